# frozen_string_literal: true

# Responses as bytes, with the expected result of each: a String is the body for the caller, :invalid and :too_large are
# errors. This is a sample with a row for each way of framing and each kind of failure; the tables of
# test/c/protocol/http1 have all rules, with bytes split at every position. Rows of ENDED end with the connection, so
# nothing can follow their bytes. TOLERATED contains responses that no server may send and that are accepted; their
# connection is closed.
module FramingTable
  OK = "HTTP/1.1 200 OK\r\n"
  CHUNKED = "#{OK}Transfer-Encoding: chunked\r\n\r\n".freeze
  TWO = "Content-Length: 2\r\n"

  def self.head(*fields) = "#{OK}#{fields.map { |field| "#{field}\r\n" }.join}\r\n"

  VALID = {
    content_length: [head("Content-Length: 2") + "ok", "ok"],
    length_with_zeros: [head("Content-Length: 002") + "ok", "ok"],
    chunk_extension: [CHUNKED + "2;a=b;c=\"d\"\r\nok\r\n0;e\r\n\r\n", "ok"],
    chunked_with_trailers: [CHUNKED + "2\r\nok\r\n0\r\nX-A: 1\r\nX-B: 2\r\n\r\n", "ok"],
    early_hints_first: ["HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + head("Content-Length: 2") + "ok", "ok"],
    no_content_with_a_length: ["HTTP/1.1 204 No Content\r\nContent-Length: 7\r\n\r\n", ""],
    not_modified_that_is_chunked: ["HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: chunked\r\n\r\n", ""]
  }.freeze

  TOLERATED = {
    folded_line: [head("X: 1", " 2", "Content-Length: 2") + "ok", "ok"],
    bare_lf_alone: ["HTTP/1.1 200 OK\nContent-Length: 2\n\nok", "ok"],
    trailer_with_bare_lf: [CHUNKED + "2\r\nok\r\n0\r\nX: 1\n\r\n", "ok"],
    no_content_with_lengths_that_differ: ["HTTP/1.1 204 X\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", ""]
  }.freeze

  ENDED = {
    until_the_end: [head("Content-Type: text/plain") + "ok", "ok"],
    until_the_end_and_empty: [head("Connection: close"), ""],
    http_1_0_until_the_end: ["HTTP/1.0 200 OK\r\n\r\nok", "ok"]
  }.freeze

  BAD_START = {
    http_0_9: "hello, world, this is no head at all\r\n\r\n",
    http_2_0: "HTTP/2.0 200 OK\r\n#{TWO}\r\nok",
    switching_protocols_unasked: "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"
  }.freeze

  BAD_FIELDS = {
    blank_before_the_colon_of_the_length: head("Content-Length : 2") + "ok",
    nul_in_a_value: head("X: a\0b", "Content-Length: 2") + "ok",
    bare_cr_that_smuggles_a_length: head("X: a\rContent-Length: 9", "Content-Length: 2") + "ok"
  }.freeze

  BAD_LENGTHS = {
    lengths_that_differ: head("Content-Length: 2", "Content-Length: 5") + "ok",
    length_with_plus: head("Content-Length: +2") + "ok",
    length_with_minus: head("Content-Length: -0") + "ok",
    length_with_underscore: head("Content-Length: 0_2") + "ok",
    length_and_chunked: head("Content-Length: 2", "Transfer-Encoding: chunked") + "2\r\nok\r\n0\r\n\r\n",
    chunked_in_http_1_0: "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
    gzip_then_chunked: head("Transfer-Encoding: gzip, chunked") + "2\r\nok\r\n0\r\n\r\n"
  }.freeze

  BAD_CHUNKS = {
    chunk_size_of_17_digits: CHUNKED + "10000000000000002\r\nok\r\n0\r\n\r\n",
    chunk_extension_with_nul: CHUNKED + "2;a\0\r\nok\r\n0\r\n\r\n",
    chunk_size_before_a_bare_lf: CHUNKED + "2\nok\r\n0\r\n\r\n",
    chunk_size_before_a_blank: CHUNKED + "2 \r\nok\r\n0\r\n\r\n",
    chunk_data_before_no_line_end: CHUNKED + "2\r\nokXX0\r\n\r\n",
    chunk_data_longer_than_its_size: CHUNKED + "2\r\nokay\r\n0\r\n\r\n",
    trailer_without_colon: CHUNKED + "2\r\nok\r\n0\r\nnonsense\r\n\r\n"
  }.freeze

  # Large, but correct responses: an inefficient server is not a hostile one.
  LARGE = {
    one_byte_in_each_chunk: [CHUNKED + "00000001\r\nx\r\n" * 10_000 + "0\r\n\r\n", "x" * 10_000],
    a_short_extension_on_each_chunk: [CHUNKED + "10;a=b\r\n#{"x" * 16}\r\n" * 500 + "0\r\n\r\n", "x" * 8000],
    fields_199: [head(*Array.new(199) { |number| "X-#{number}: 1" }, "Content-Length: 2") + "ok", "ok"],
    a_field_of_60_kb: [head("X: #{"a" * 60_000}", "Content-Length: 2") + "ok", "ok"],
    some_informationals: ["HTTP/1.1 103 X\r\nA: b\r\n\r\n" * 10 + head("Content-Length: 2") + "ok", "ok"]
  }.freeze

  TOO_LARGE = {
    one_field_of_200_kb: [head("X: #{"a" * 200_000}"), :too_large],
    one_name_of_200_kb: [head("#{"a" * 200_000}: 1"), :too_large],
    a_reason_of_200_kb: ["HTTP/1.1 200 #{"a" * 200_000}\r\n\r\n", :too_large],
    fields_of_100_kb_in_all: [head(*Array.new(100) { |number| "X-#{number}: #{"a" * 1000}" }), :too_large],
    a_head_without_an_end: ["#{OK}X: #{"a" * 100_000}", :too_large],
    fields_201: [head(*Array.new(201) { |number| "X-#{number}: 1" }, "Content-Length: 2") + "ok", :too_large],
    trailers_of_100_kb: [CHUNKED + "0\r\nX: #{"a" * 100_000}\r\n\r\n", :too_large],
    chunk_sizes_padded_around_next_to_nothing: [CHUNKED + "1;#{"a" * 100}\r\nx\r\n" * 1000, :invalid],
    chunk_extension_of_100_kb: [CHUNKED + "2;#{"a" * 100_000}\r\nok\r\n0\r\n\r\n", :invalid],
    chunk_extensions_of_100_kb_in_all: [CHUNKED + "1;#{"a" * 200}\r\nx\r\n" * 500 + "0\r\n\r\n", :invalid],
    informationals_without_end: ["HTTP/1.1 103 X\r\nA: b\r\n\r\n" * 50_000, :invalid]
  }.freeze

  INVALID = [BAD_START, BAD_FIELDS, BAD_LENGTHS, BAD_CHUNKS].reduce(:merge)
    .transform_values { |bytes| [bytes, :invalid].freeze }.freeze
  SMALL = VALID.merge(TOLERATED, INVALID).freeze
end
