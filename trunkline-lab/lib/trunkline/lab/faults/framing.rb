# frozen_string_literal: true

require_relative "fault"

module Trunkline
  module Lab
    module Faults
      # Faults in the framing of responses: where one ends and the next begins.
      module Framing
        extend Group

        CHUNKED = "#{Bytes::OK}Transfer-Encoding: chunked\r\n\r\n".freeze

        group "Framing"

        add :lengths_that_differ, "two `Content-Length` that differ", head("Content-Length: 2", "Content-Length: 5")
        add :length_below_zero, "`Content-Length: -2`", head("Content-Length: -2")
        add :length_of_letters, "`Content-Length: two`", head("Content-Length: two")
        add :length_beyond_64_bits, "`Content-Length` of 30 digits", head("Content-Length: #{"9" * 30}")
        add :length_and_chunked, "`Content-Length` beside `Transfer-Encoding: chunked`",
            head("Content-Length: 2", "Transfer-Encoding: chunked", body: "2\r\nok\r\n0\r\n\r\n")
        add :length_too_small, "more bytes than `Content-Length` says", head("Content-Length: 2", body: "okEVIL"),
            body: "ok"
        add(:length_too_large, "fewer bytes than `Content-Length`, then a closed connection") do |connection|
          connection << head("Content-Length: 9")
          connection.close
        end
        add(:chunks_cut, "a closed connection within a chunk") do |connection|
          connection << "#{CHUNKED}9\r\nok"
          connection.close
        end
        add(:last_chunk_missing, "the end instead of the last chunk") do |connection|
          connection << "#{CHUNKED}2\r\nok\r\n"
          connection.close
        end
        add :chunk_size_overflow, "a chunk size of 17 digits", "#{CHUNKED}10000000000000002\r\nok\r\n0\r\n\r\n"
        add :chunk_longer_than_told, "a chunk longer than its size", "#{CHUNKED}2\r\nokay\r\n0\r\n\r\n"
        add :chunk_extension_without_end, "a chunk extension of 2 MB", "#{CHUNKED}2;#{"a" * 2_000_000}"
        add :two_answers, "a second response without a request", response("ok") + response("EVIL"), body: "ok"
        add :split, "an answer within the body of another, whose length is too small",
            head("Content-Length: 2", body: "ok#{response("EVIL")}"), body: "ok"
      end
    end
  end
end
