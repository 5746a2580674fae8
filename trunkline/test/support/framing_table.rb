# frozen_string_literal: true

# Answers as bytes, and what must become of each: a String is the body the caller gets, :invalid and :too_large are
# the errors. Rows of ENDED end with the connection; nothing can follow their bytes. What is read though no server may
# send it is in TOLERATED: its connection is closed.
module FramingTable
  OK = "HTTP/1.1 200 OK\r\n"
  CHUNKED = "#{OK}Transfer-Encoding: chunked\r\n\r\n".freeze
  TWO = "Content-Length: 2\r\n"

  def self.head(*fields) = "#{OK}#{fields.map { |field| "#{field}\r\n" }.join}\r\n"

  VALID = {
    content_length: [head("Content-Length: 2") + "ok", "ok"],
    content_length_zero: [head("Content-Length: 0"), ""],
    content_length_with_leading_zeros: [head("Content-Length: 0002") + "ok", "ok"],
    content_length_twice_and_equal: [head("Content-Length: 2", "Content-Length: 2") + "ok", "ok"],
    content_length_list_of_equals: [head("Content-Length: 2, 2") + "ok", "ok"],
    blanks_around_a_value: [head("Content-Length: \t 2 \t") + "ok", "ok"],
    chunked: [CHUNKED + "2\r\nok\r\n0\r\n\r\n", "ok"],
    chunked_in_capitals: [head("TRANSFER-ENCODING: CHUNKED") + "2\r\nok\r\n0\r\n\r\n", "ok"],
    chunk_size_in_capital_hex_with_zeros: [CHUNKED + "000A\r\n0123456789\r\n0\r\n\r\n", "0123456789"],
    chunk_extension: [CHUNKED + "2;a=b;c=\"d\"\r\nok\r\n0;e\r\n\r\n", "ok"],
    chunked_with_trailers: [CHUNKED + "2\r\nok\r\n0\r\nX-A: 1\r\nX-B: 2\r\n\r\n", "ok"],
    continue_first: ["HTTP/1.1 100 Continue\r\n\r\n" + head("Content-Length: 2") + "ok", "ok"],
    early_hints_first: ["HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + head("Content-Length: 2") + "ok", "ok"],
    unknown_informational_first: ["HTTP/1.1 199 X\r\nA: b\r\n\r\n" + head("Content-Length: 2") + "ok", "ok"],
    no_content: ["HTTP/1.1 204 No Content\r\n\r\n", ""],
    no_content_with_a_length: ["HTTP/1.1 204 No Content\r\nContent-Length: 7\r\n\r\n", ""],
    not_modified_with_a_length: ["HTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\n\r\n", ""],
    not_modified_that_is_chunked: ["HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: chunked\r\n\r\n", ""],
    reason_with_bytes_above_127: ["HTTP/1.1 200 Gr\xC3\xBCn\r\n#{TWO}\r\nok", "ok"],
    status_without_a_class: ["HTTP/1.1 799 What\r\n#{TWO}\r\nok", "ok"]
  }.freeze

  TOLERATED = {
    folded_line: [head("X: 1", " 2", "Content-Length: 2") + "ok", "ok"],
    folded_with_a_tab: [head("X: 1", "\t2", "Content-Length: 2") + "ok", "ok"],
    folded_length: [head("Content-Length:", " 2") + "ok", "ok"],
    bare_lf_after_the_status: ["HTTP/1.1 200 OK\n#{TWO}\r\nok", "ok"],
    bare_lf_after_a_field: ["#{OK}X: 1\n#{TWO}\r\nok", "ok"],
    bare_lf_ends_the_head: ["#{OK}#{TWO}\nok", "ok"],
    bare_lf_alone: ["HTTP/1.1 200 OK\nContent-Length: 2\n\nok", "ok"],
    trailer_with_bare_lf: [CHUNKED + "2\r\nok\r\n0\r\nX: 1\n\r\n", "ok"],
    trailer_folded: [CHUNKED + "2\r\nok\r\n0\r\nX: 1\r\n 2\r\n\r\n", "ok"],
    folded_early_hints: ["HTTP/1.1 103 X\r\nA: 1\r\n 2\r\n\r\n#{head("Content-Length: 2")}ok", "ok"],
    no_content_with_lengths_that_differ: ["HTTP/1.1 204 X\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", ""],
    no_content_with_a_malformed_length: ["HTTP/1.1 204 X\r\nContent-Length: many\r\n\r\n", ""],
    no_content_with_an_unknown_coding: ["HTTP/1.1 204 X\r\nTransfer-Encoding: br\r\n\r\n", ""],
    no_content_with_length_and_coding: ["HTTP/1.1 204 X\r\n#{TWO}Transfer-Encoding: chunked\r\n\r\n", ""],
    not_modified_with_a_malformed_length: ["HTTP/1.1 304 X\r\nContent-Length: -7\r\n\r\n", ""],
    not_modified_with_length_and_coding: ["HTTP/1.1 304 X\r\n#{TWO}Transfer-Encoding: chunked\r\n\r\n", ""]
  }.freeze

  ENDED = {
    until_the_end: [head("Content-Type: text/plain") + "ok", "ok"],
    until_the_end_and_empty: [head("Connection: close"), ""],
    http_1_0_until_the_end: ["HTTP/1.0 200 OK\r\n\r\nok", "ok"]
  }.freeze

  BAD_START = {
    http_0_9: "hello, world, this is no head at all\r\n\r\n",
    lower_case_protocol: "http/1.1 200 OK\r\n#{TWO}\r\nok",
    http_2_0: "HTTP/2.0 200 OK\r\n#{TWO}\r\nok",
    http_1_2: "HTTP/1.2 200 OK\r\n#{TWO}\r\nok",
    http_1_10: "HTTP/1.10 200 OK\r\n#{TWO}\r\nok",
    other_protocol: "ICY 200 OK\r\n#{TWO}\r\nok",
    two_blanks_before_the_status: "HTTP/1.1  200 OK\r\n#{TWO}\r\nok",
    tab_before_the_status: "HTTP/1.1\t200 OK\r\n#{TWO}\r\nok",
    status_of_two_digits: "HTTP/1.1 20 OK\r\n#{TWO}\r\nok",
    status_of_four_digits: "HTTP/1.1 2000 OK\r\n#{TWO}\r\nok",
    status_of_five_digits: "HTTP/1.1 99999 OK\r\n#{TWO}\r\nok",
    status_with_a_sign: "HTTP/1.1 +20 OK\r\n#{TWO}\r\nok",
    status_of_letters: "HTTP/1.1 abc OK\r\n#{TWO}\r\nok",
    status_below_100: "HTTP/1.1 099 OK\r\n#{TWO}\r\nok",
    nul_in_the_reason: "HTTP/1.1 200 O\0K\r\n#{TWO}\r\nok",
    bare_cr_in_the_reason: "HTTP/1.1 200 O\rK\r\n#{TWO}\r\nok",
    switching_protocols_unasked: "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
    tls_instead_of_http: "\x15\x03\x01\x00\x02\x02\x46\r\n\r\n"
  }.freeze

  BAD_FIELDS = {
    blank_before_the_colon: head("X : 1", "Content-Length: 2") + "ok",
    blank_before_the_colon_of_the_length: head("Content-Length : 2") + "ok",
    blank_before_the_first_field: "#{OK} X: 1\r\n#{TWO}\r\nok",
    nul_in_a_value: head("X: a\0b", "Content-Length: 2") + "ok",
    bare_cr_in_a_value: head("X: a\rb", "Content-Length: 2") + "ok",
    bare_cr_that_smuggles_a_length: head("X: a\rContent-Length: 9", "Content-Length: 2") + "ok",
    control_in_a_value: head("X: a\x01b", "Content-Length: 2") + "ok",
    delete_in_a_value: head("X: a\x7Fb", "Content-Length: 2") + "ok",
    field_without_a_colon: head("nonsense", "Content-Length: 2") + "ok",
    field_without_a_name: head(": value", "Content-Length: 2") + "ok",
    name_with_a_blank: head("X Y: 1", "Content-Length: 2") + "ok",
    name_with_a_bracket: head("X(Y): 1", "Content-Length: 2") + "ok",
    name_above_127: head("X\xC3\xBC: 1", "Content-Length: 2") + "ok",
    nul_in_a_name: head("X\0Y: 1", "Content-Length: 2") + "ok"
  }.freeze

  BAD_LENGTHS = {
    lengths_that_differ: head("Content-Length: 2", "Content-Length: 5") + "ok",
    list_of_lengths_that_differ: head("Content-Length: 2, 5") + "ok",
    length_with_plus: head("Content-Length: +2") + "ok",
    length_with_minus: head("Content-Length: -2") + "ok",
    length_in_hex: head("Content-Length: 0x2") + "ok",
    length_with_a_blank_inside: head("Content-Length: 2 2") + "ok",
    length_without_digits: head("Content-Length:") + "ok",
    length_of_letters: head("Content-Length: two") + "ok",
    length_with_a_trailing_comma: head("Content-Length: 2,") + "ok",
    length_with_a_fraction: head("Content-Length: 2.0") + "ok",
    length_of_two_to_the_63: head("Content-Length: 9223372036854775808") + "ok",
    length_of_ten_to_the_23: head("Content-Length: 100000000000000000000000") + "ok",
    length_and_chunked: head("Content-Length: 2", "Transfer-Encoding: chunked") + "2\r\nok\r\n0\r\n\r\n",
    chunked_and_length: head("Transfer-Encoding: chunked", "Content-Length: 2") + "2\r\nok\r\n0\r\n\r\n",
    unknown_coding: head("Transfer-Encoding: xchunked") + "2\r\nok\r\n0\r\n\r\n",
    gzip_then_chunked: head("Transfer-Encoding: gzip, chunked") + "2\r\nok\r\n0\r\n\r\n",
    chunked_not_last: head("Transfer-Encoding: chunked, gzip") + "2\r\nok\r\n0\r\n\r\n",
    chunked_twice: head("Transfer-Encoding: chunked, chunked") + "2\r\nok\r\n0\r\n\r\n",
    chunked_on_two_lines: head("Transfer-Encoding: chunked", "Transfer-Encoding: chunked") + "2\r\nok\r\n0\r\n\r\n",
    identity_coding: head("Transfer-Encoding: identity") + "ok",
    empty_coding: head("Transfer-Encoding:") + "ok",
    coding_with_a_vertical_tab: head("Transfer-Encoding: \x0Bchunked") + "2\r\nok\r\n0\r\n\r\n",
    chunked_on_http_1_0: "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"
  }.freeze

  BAD_CHUNKS = {
    chunk_size_missing: CHUNKED + "\r\nok\r\n0\r\n\r\n",
    chunk_size_only_extension: CHUNKED + ";a=b\r\nok\r\n0\r\n\r\n",
    chunk_size_with_0x: CHUNKED + "0x2\r\nok\r\n0\r\n\r\n",
    chunk_size_with_plus: CHUNKED + "+2\r\nok\r\n0\r\n\r\n",
    chunk_size_with_minus: CHUNKED + "-2\r\nok\r\n0\r\n\r\n",
    chunk_size_after_a_blank: CHUNKED + " 2\r\nok\r\n0\r\n\r\n",
    chunk_size_of_letters: CHUNKED + "xyz\r\nok\r\n0\r\n\r\n",
    chunk_size_with_underscore: CHUNKED + "1_0\r\nok\r\n0\r\n\r\n",
    chunk_size_of_17_digits: CHUNKED + "10000000000000002\r\nok\r\n0\r\n\r\n",
    chunk_size_of_16_fs: CHUNKED + "ffffffffffffffff\r\nok\r\n0\r\n\r\n",
    chunk_line_with_bare_lf: CHUNKED + "2\nok\r\n0\r\n\r\n",
    chunk_line_with_bare_cr: CHUNKED + "2\rok\r\n0\r\n\r\n",
    chunk_extension_with_bare_lf: CHUNKED + "2;a\nok\r\n0\r\n\r\n",
    chunk_extension_with_nul: CHUNKED + "2;a\0\r\nok\r\n0\r\n\r\n",
    chunk_data_followed_by_other_bytes: CHUNKED + "2\r\nokXY0\r\n\r\n",
    chunk_data_followed_by_cr_and_another: CHUNKED + "2\r\nok\rX0\r\n\r\n",
    chunk_data_followed_by_bare_lf: CHUNKED + "2\r\nok\n0\r\n\r\n",
    chunk_data_longer_than_told: CHUNKED + "2\r\nokay\r\n0\r\n\r\n",
    trailer_with_nul: CHUNKED + "2\r\nok\r\n0\r\nX: a\0\r\n\r\n",
    trailer_without_colon: CHUNKED + "2\r\nok\r\n0\r\nnonsense\r\n\r\n"
  }.freeze

  # Large, and in order: a clumsy server is no hostile one.
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
