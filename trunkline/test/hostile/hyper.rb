# frozen_string_literal: true

require_relative "served_cases"

# The responses in hyper's own tests (github.com/hyperium/hyper: src/proto/h1 and tests/client.rs), read from a
# checkout. Tests of hyper's options, of CONNECT and of requests are left out.
#
#   ruby hyper.rb CHECKOUT
class HyperCases
  LITERAL = /b?"((?:[^"\\]|\\.)*)"/m
  ESCAPES = { "r" => "\r", "n" => "\n", "t" => "\t", "0" => "\0" }.freeze
  SWITCHED_ON = /h09_responses: true|\(true\)/
  CHUNKED = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
  OK = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
  CALL = /\b(parse(?:_with_method|_err|_ignores)?)\(\s*#{LITERAL}(?:,\s*Method::(\w+))?[^)]*\)([^;]*);/m
  MOCK = /(?:mock_buf|bytes) = &#{LITERAL}/m
  # The body length that hyper's test expects => the body to serve, and the body that must be read.
  BODIES = { "CLOSE_DELIMITED" => %w[xyz xyz], "ZERO" => ["", ""],
             "CHUNKED" => ["3\r\nxyz\r\n0\r\n\r\n", "xyz"] }.freeze
  # Differences of Trunkline, with the reasons.
  NOT_ONE_CHUNKED = "the end of a body is known only for a single `chunked` coding"
  BLANKS = "spaces after a chunk size are refused, as by llhttp, since proxies differ in how they read them"
  REASONS = {
    'role: "HTTP/1.1 200 OK\r\ntransfer-encoding: yolo"' => NOT_ONE_CHUNKED,
    "client: client_response_transfer_encoding_not_chunked" => NOT_ONE_CHUNKED,
    'role: "HTTP/1.1 200 OK\r\ncontent-length: 10\r\ntransfer-encoding: chunked"' =>
      "it may hide one response in another, and RFC 9112 6.3 allows to refuse it",
    'role: "HTTP/1.1 101 Switching Protocols"' =>
      "101 is accepted only if the request asked for an upgrade (RFC 9110 15.2.2)",
    'decode: "Ff   \r\n"' => BLANKS,
    'decode: "3   ; extension=123\r\n"' => BLANKS,
    'decode: "3   ;\r\n"' => BLANKS,
    'decode: "3   ;   \r\n"' => BLANKS
  }.freeze

  # @param folder [String] the folder of the checkout
  # @return [Array<ServedCases::Case>]
  def self.read(folder) = new(folder).cases

  def initialize(folder)
    @constants = File.read("#{folder}/src/proto/h1/role.rs")
    @role = functions(@constants)
    @decode = functions(File.read("#{folder}/src/proto/h1/decode.rs"))
    @client = File.read("#{folder}/tests/client.rs")
  end

  # @return [Array<ServedCases::Case>]
  def cases = heads + messages + chunk_sizes + chunked_bodies + exchanges

  private

  # @return [Hash{String => String}] the text of each test, by its name
  def functions(source) = source.scan(/^    (?:async )?fn (test_\w+)\(\) \{\n(.*?)^    \}\n/m).to_h

  def bytes(literal)
    text = literal.b.gsub(/\\\n\s*/n, "")
    text.gsub(/\\(?:x(\h\h)|(.))/mn) { $1 ? [$1].pack("H2") : ESCAPES.fetch($2, $2) } # rubocop:disable Style/PerlBackrefs
  end

  def refused(name, bytes) = ServedCases::Case.new(name: name, verb: "GET", bytes: bytes, error: true)

  def taken(name, bytes, body, verb = "GET", status: bytes[/\AHTTP\S+ (\d+)/, 1].to_i)
    ServedCases::Case.new(name: name, verb: verb, bytes: bytes, status: status, body: body, complete: true)
  end

  # role: test_decoder_response contains heads, and the body length that each implies.
  def heads
    found = @role.fetch("test_decoder_response").scan(CALL).reject { |_, _, verb, _| verb == "CONNECT" }
    found.map { |kind, literal, verb, said| head(kind, bytes(literal), verb || "GET", said) }
  end

  def head(kind, bytes, verb, said)
    name = "role: #{bytes.strip.inspect}"
    return refused(name, bytes) if kind == "parse_err"
    return taken(name, bytes + OK, "", status: 200) if kind == "parse_ignores"

    served, read = BODIES[said[/DecodedLength::([A-Z]\w+)/, 1]] || (["x" * said[/new\((\d+)\)/, 1].to_i] * 2)
    name = "#{name} to #{verb}" unless verb == "GET"
    taken(name, bytes + served, (read if said.include?("DecodedLength")), verb)
  end

  # role: tests with one response each.
  def messages
    @role.filter_map do |name, text|
      next if text.match?(SWITCHED_ON) || !name.start_with?("test_parse_") || !text.include?("Client::parse")

      bytes = bytes(text[/BytesMut::from\(#{LITERAL}\)/m, 1] || constant(text[/BytesMut::from\(([A-Z0-9_]+)\)/, 1]))
      text.include?("unwrap_err") ? refused("role: #{name}", bytes) : taken("role: #{name}", bytes, nil)
    end
  end

  def constant(name) = @constants[/const #{name}: &str =\s*#{LITERAL}/m, 1]

  # decode: test_read_chunk_size has lines with a chunk size each.
  def chunk_sizes
    text = @decode.fetch("test_read_chunk_size")
    read = text.scan(/assert_eq!\((\d+), read\(#{LITERAL}\)/m).map do |size, literal|
      rest = size == "0" ? "\r\n" : "#{"x" * size.to_i}\r\n0\r\n\r\n"
      taken("decode: #{bytes(literal).inspect}", CHUNKED + bytes(literal) + rest, "x" * size.to_i)
    end
    read + text.scan(/read_err\(#{LITERAL}, (\w+)\)/m).map do |literal, kind|
      rest = kind == "UnexpectedEof" ? "" : "x\r\n0\r\n\r\n"
      refused("decode: #{bytes(literal).inspect}", CHUNKED + bytes(literal) + rest)
    end
  end

  # decode: tests with one chunked body each.
  def chunked_bodies
    @decode.filter_map do |name, text|
      literal = text[MOCK, 1]
      next unless literal && text.include?("Decoder::chunked(None")

      bytes = CHUNKED + bytes(literal)
      next refused("decode: #{name}", bytes) if text.match?(/unwrap_err|expect_err/)

      taken("decode: #{name}", bytes, nil) if bytes.end_with?("0\r\n\r\n")
    end
  end

  # client: requests and the server's responses.
  def exchanges
    @client.split(/^test! \{\n/).drop(1).filter_map do |text|
      text = text[/\A.*?^\}\n/m]
      reply = text[/reply: #{LITERAL}/m, 1]
      verb = text[/method: (\w+)/, 1]
      next if reply.nil? || reply == "won't reply" || verb == "CONNECT" || text.include?("options: {")

      exchange("client: #{text[/name: (\w+)/, 1]}", bytes(reply), verb, text)
    end
  end

  def exchange(name, bytes, verb, text)
    return refused(name, bytes) if text.match?(/^\s*error: /)

    body = bytes(text[/^\s*body: &#{LITERAL}/m, 1] || "")
    taken(name, bytes, body, verb, status: bytes[/^HTTP\S+ ([2-5]\d\d)/, 1].to_i)
  end
end

if $PROGRAM_NAME == __FILE__
  cases = HyperCases.read(ARGV.fetch(0))
  abort "there are no cases in #{ARGV.first}" if cases.empty?
  wrong = ServedCases.new("hyper", cases, HyperCases::REASONS).run
  puts wrong
  exit wrong.empty?
end
