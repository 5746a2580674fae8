# frozen_string_literal: true

require_relative "responses"

# The response of a server of one file to a request, with or without a Range. Deviations from the default are given by
# name:
#
#   etag, ranges, fields   header fields of the file
#   status                 responds with this error status
#   cut                    number of bytes of the body that are sent before the connection ends
#   chunked                the body is chunked, and its last chunk is not sent
#   shift                  is added to the first byte position in Content-Range, which is then wrong
#   wait                   a Queue from which an item is popped before the connection ends
class FileReply
  include Responses

  USUAL = { etag: "\"one\"", ranges: true, status: nil, cut: nil, chunked: false, shift: 0, wait: nil }.freeze

  # @param bytes [String] the content of the file
  def initialize(connection, request, bytes)
    @connection = connection
    @request = request
    @bytes = bytes
  end

  # @return [Boolean] whether the connection continues
  def send_response(bytes: @bytes, **unusual) # rubocop:disable Naming/PredicateMethod -- it is what the test does
    @bytes = bytes
    @options = USUAL.merge(unusual)
    bytes, ended = reply
    @connection << bytes
    @options[:wait]&.pop
    !ended
  end

  private

  def size = @bytes.bytesize

  # @return [Array(String, Boolean)] the bytes to send, and whether the connection ends after them
  def reply
    return [response_bytes("no", status: @options[:status]), false] if @options[:status]
    if from && from >= size
      return [response_bytes("", status: "416 Range", "Content-Range" => "bytes */#{size}"), false]
    end
    return [head + chunk(body), true] if @options[:chunked]

    [head + body[0, @options[:cut] || body.bytesize], @options[:cut]]
  end

  # The first byte position that is requested, if ranges are supported at all.
  def from
    from, = requested_range
    from if from && @options[:ranges] && known?
  end

  def requested_range = @request["range"].to_s[/\d+-\d*/]&.split("-")&.map(&:to_i)

  def known?
    condition = @request["if-range"]
    condition.nil? || [@options[:etag], @options["Last-Modified"]].compact.map(&:b).include?(condition.b)
  end

  def body = from ? @bytes[from..(requested_range[1] || -1)] : @bytes

  def head
    lines = { **about_file, **framing }.compact.map { |name, value| "#{name}: #{value}\r\n".b }.join
    "HTTP/1.1 #{from ? "206 Partial Content" : "200 OK"}\r\n#{lines}\r\n"
  end

  def about_file
    { "ETag" => @options[:etag], "Accept-Ranges" => @options[:ranges] ? "bytes" : "none",
      "Content-Range" => from && "bytes #{from + @options[:shift]}-#{from + body.bytesize - 1}/#{size}",
      **@options.select { |name, _| name.is_a?(String) } }
  end

  def framing
    @options[:chunked] ? { "Transfer-Encoding" => "chunked" } : { "Content-Length" => body.bytesize }
  end
end
