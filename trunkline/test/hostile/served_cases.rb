# frozen_string_literal: true

require "socket"
require "trunkline"

# Bytes from the tests of other HTTP/1.1 parsers, served to the client by a separate server: bytes that those
# parsers refuse must be refused, and others must give the same result, unless a reason for the difference is given.
class ServedCases
  # error: whether the other parser refuses it. complete: whether it reads a whole message. body: nil if the other
  # parser's test does not give it.
  Case = Struct.new(:name, :verb, :bytes, :error, :status, :body, :complete, keyword_init: true)

  # @param whose [String] the parser whose tests these are
  # @param cases [Array<Case>]
  # @param reasons [Hash{String => String}] the beginning of a line that reports a difference => the reason
  def initialize(whose, cases, reasons)
    @whose = whose
    @cases = cases
    @reasons = reasons
    @listener = TCPServer.new("127.0.0.1", 0)
  end

  # @return [Array<String>] differences without a reason, and reasons without a difference
  def run
    left = @cases.filter_map do |one|
      difference = compare(one, serve_case(one))
      "#{one.name}: #{difference}" if difference
    end
    known, unknown = left.partition { |line| @reasons.any? { |beginning, _| line.start_with?(beginning) } }
    unused = @reasons.keys.reject { |beginning| known.any? { |line| line.start_with?(beginning) } }
    puts "#{@cases.size} responses of #{@whose}'s tests, #{left.size} differences, of which #{known.size} have a reason"
    unknown + unused.map { |beginning| "#{beginning}: there is no such difference any more" }
  end

  private

  def serve_case(one)
    serving = Thread.new { serve(one) }
    client = Trunkline.new("http://127.0.0.1:#{@listener.addr[1]}", timeout: 2, max_idle: 1)
    client.request(one.verb, "/")
  rescue Trunkline::Error => error
    error
  ensure
    client.close
    serving.join
  end

  def serve(one)
    socket = @listener.accept
    nil until socket.gets == "\r\n"
    socket.write(one.bytes)
    socket.close_write
    socket.wait_readable(2)
  rescue SystemCallError
    nil # the client has refused the response before it was complete
  ensure
    socket&.close
  end

  def compare(one, result)
    refused = result.is_a?(Trunkline::Error)
    return ("#{@whose} refuses it, we read #{result.status} #{result.body.inspect}" unless refused) if one.error
    return (refused_alone(one, result) if one.complete) if refused
    return if one.status.nil?
    return if result.status == one.status && (one.body.nil? || result.body.b == one.body.b)

    "#{@whose} reads #{one.status} #{one.body.inspect}, we read #{result.status} #{result.body.inspect}"
  end

  def refused_alone(one, error) = "#{@whose} reads #{one.status}, we refuse it: #{error.message[/: (.*);/, 1]}"
end
