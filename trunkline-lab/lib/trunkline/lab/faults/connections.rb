# frozen_string_literal: true

require_relative "fault"

module Trunkline
  module Lab
    module Faults
      # Connections that the server ends, and unsolicited bytes on them.
      module Connections
        extend Group

        VERBS = %i[get head put delete options post patch].freeze

        ENDLESS = "most clients would read it until memory is exhausted"

        group "Connections"

        add :closed, "a closed connection instead of a response", &:close
        add :reset, "a reset instead of a response", &:reset
        VERBS.each do |verb|
          { close: "the end", reset: "a reset" }.each do |way, does|
            add(:"#{way}_of_a_kept_connection_on_#{verb}",
                "#{does} instead of a response to #{verb.upcase}, on a reused connection",
                warm: true, verb: verb) do |connection|
              connection.public_send(way)
            end
          end
        end
        add(:without_close_notify, "the end of TCP without that of TLS, of a body without a length",
            tls: true) do |connection|
          connection << "#{Bytes::OK}Connection: close\r\n\r\nok"
          connection.close_abruptly
        end
        add(:poisoned, "a response without a request, on the idle connection", body: "ok",
                                                                               pause: 0.2) do |connection|
          connection << response("ok")
          sleep 0.05
          connection << response("EVIL")
        end
        add(:endless, "a body without an end", untried: ENDLESS) do |connection|
          connection << "#{Bytes::OK}\r\n"
          loop { connection << Bytes::MEGABYTE }
        end
      end
    end
  end
end
