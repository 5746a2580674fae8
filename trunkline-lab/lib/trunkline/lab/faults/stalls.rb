# frozen_string_literal: true

require_relative "fault"

module Trunkline
  module Lab
    module Faults
      # A server that stalls, or almost stalls, in each phase of a call.
      module Stalls
        extend Group

        UPLOAD = 20_000_000 # bytes: more than socket buffers hold

        group "Stalls"

        add :connect_stalls, "nothing when it is connected to: its queue is full", place: :full_queue
        add :handshake_stalls, "nothing when TLS begins", place: :silent
        add(:upload_stalls, "nothing, and reads no byte of a body of 20 MB", verb: :post, upload: UPLOAD) { sleep }
        add :silence, "no byte of an answer", &:stall
        add(:half_a_head, "half a head, and then nothing") do |connection|
          connection << "#{Bytes::OK}Content-"
          connection.stall
        end
        add(:half_a_body, "half a body, and then nothing") do |connection|
          connection << head("Content-Length: 9")
          connection.stall
        end
        add(:slow_body, "a body of which a byte comes from time to time") do |connection|
          connection << head("Content-Length: 999", body: "")
          connection.drip("x" * 999, every: 0.05)
        end
        add(:drip, "a head of which a byte comes from time to time") do |connection|
          connection.drip(head("Content-Length: 999", body: "x" * 999), every: 0.05)
        end
      end
    end
  end
end
