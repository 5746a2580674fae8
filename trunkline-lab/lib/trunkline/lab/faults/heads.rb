# frozen_string_literal: true

require_relative "fault"

module Trunkline
  module Lab
    module Faults
      # Faults in status lines and header fields.
      module Heads
        extend Group

        group "Heads"

        add :http_0_9, "a body without a head", "hello, world, this is no head at all\r\n\r\n"
        add :another_version, "`HTTP/2.0` as its version", "HTTP/2.0 200 OK\r\nContent-Length: 2\r\n\r\nok"
        add :nul, "NUL in a field", head("X: a\0b", "Content-Length: 2")
        add :giant_field, "one field of 2 MB", head("X: #{"a" * 2_000_000}", "Content-Length: 2")
        add :flood_of_fields, "100,000 fields", head(*Array.new(100_000) { |number| "X-#{number}: 1" })
        add :flood_of_1xx, "50,000 times `103`", "HTTP/1.1 103 X\r\nA: b\r\n\r\n" * 50_000
        add :switching_unasked, "`101` unasked", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n"
        add(:head_cut, "the end within the head") do |connection|
          connection << "#{Bytes::OK}Content-Le"
          connection.close
        end
      end
    end
  end
end
