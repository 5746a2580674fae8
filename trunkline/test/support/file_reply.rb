# frozen_string_literal: true

require_relative "answers"

# How a server of one file answers a request, with or without a Range. What is unusual of an answer is given by name:
#
#   etag, ranges, fields   what it says of the file
#   status                 refuses with this one
#   cut                    how many bytes of the body leave before the connection ends
#   chunked                the body has no length, and its last chunk does not leave
#   shift                  added to the first byte in Content-Range, which lies
#   wait                   a Queue to hear from before the connection ends
class FileReply
  include Answers

  USUAL = { etag: "\"one\"", ranges: true, status: nil, cut: nil, chunked: false, shift: 0, wait: nil }.freeze

  # @param bytes [String] the file
  def initialize(connection, request, bytes)
    @connection = connection
    @request = request
    @bytes = bytes
  end

  # @return [Boolean] whether the connection goes on
  def answer_with(bytes: @bytes, **unusual) # rubocop:disable Naming/PredicateMethod -- it is what the test does
    @bytes = bytes
    @told = USUAL.merge(unusual)
    bytes, ended = reply
    @connection << bytes
    @told[:wait]&.pop
    !ended
  end

  private

  def size = @bytes.bytesize

  # @return [Array(String, Boolean)] what is sent, and whether the connection ends there
  def reply
    return [answer("no", status: @told[:status]), false] if @told[:status]
    return [answer("", status: "416 Range", "Content-Range" => "bytes */#{size}"), false] if from && from >= size
    return [head + chunk(body), true] if @told[:chunked]

    [head + body[0, @told[:cut] || body.bytesize], @told[:cut]]
  end

  # The first byte that is asked for, if parts are sent at all.
  def from
    from, = asked
    from if from && @told[:ranges] && known?
  end

  def asked = @request["range"].to_s[/\d+-\d*/]&.split("-")&.map(&:to_i)

  def known?
    condition = @request["if-range"]
    condition.nil? || [@told[:etag], @told["Last-Modified"]].compact.map(&:b).include?(condition.b)
  end

  def body = from ? @bytes[from..(asked[1] || -1)] : @bytes

  def head
    lines = { **about_file, **framing }.compact.map { |name, value| "#{name}: #{value}\r\n".b }.join
    "HTTP/1.1 #{from ? "206 Partial Content" : "200 OK"}\r\n#{lines}\r\n"
  end

  def about_file
    { "ETag" => @told[:etag], "Accept-Ranges" => @told[:ranges] ? "bytes" : "none",
      "Content-Range" => from && "bytes #{from + @told[:shift]}-#{from + body.bytesize - 1}/#{size}",
      **@told.select { |name, _| name.is_a?(String) } }
  end

  def framing
    @told[:chunked] ? { "Transfer-Encoding" => "chunked" } : { "Content-Length" => body.bytesize }
  end
end
