# frozen_string_literal: true

require_relative "fault"

module Trunkline
  module Lab
    module Faults
      # Connections that the server ends, and unsolicited bytes on them.
      module Connections
        extend Group

        VERBS = %i[get head put delete options post patch].freeze

        ENDLESS = "most clients would take it until the machine has no memory"

        group "Connections"

        add :closed, "the end instead of an answer", &:close
        add :reset, "a reset instead of an answer", &:reset
        VERBS.each do |verb|
          { close: "the end", reset: "a reset" }.each do |way, does|
            add(:"#{way}_of_a_kept_connection_on_#{verb}",
                "#{does} instead of an answer to #{verb.upcase}, on a kept one", warm: true, verb: verb) do |connection|
              connection.public_send(way)
            end
          end
        end
        add(:without_close_notify, "the end of TCP without that of TLS, of a body without a length",
            tls: true) do |connection|
          connection << "#{Bytes::OK}Connection: close\r\n\r\nok"
          connection.close_abruptly
        end
        add(:poisoned, "an answer that nobody asked for, on the idle connection", body: "ok",
                                                                                  pause: 0.2) do |connection|
          connection << answer("ok")
          sleep 0.05
          connection << answer("EVIL")
        end
        add(:endless, "a body without an end", untried: ENDLESS) do |connection|
          connection << "#{Bytes::OK}\r\n"
          loop { connection << Bytes::MEGABYTE }
        end
      end
    end
  end
end
