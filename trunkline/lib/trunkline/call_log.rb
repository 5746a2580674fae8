# frozen_string_literal: true

require_relative "body_text"
require_relative "curl_command"
require_relative "engine"
require_relative "log_line"
require_relative "redacted"
require_relative "redaction"

module Trunkline
  # The probe of a client with logger:, log: or curl:. Logs each call when it has ended, as one message: a line; with
  # log: :headers or :bodies the last request and its response; with curl: the request as a curl command. Frozen.
  #
  # @api private
  class CallLog
    include Redacted

    # Values of log:; each level includes those before it.
    LEVELS = %i[line headers bodies].freeze
    # Maximum bytes of a body in the log.
    BODY = 4096
    CONTROL = /[^[:print:]\t]/
    private_constant :CONTROL

    # @param logger [#info, #warn, nil] nil: Trunkline.logger
    # @param level [Symbol] one of LEVELS
    # @param curl [Boolean]
    def initialize(logger, level, curl)
      @logger = logger
      @headers = level != :line
      @bodies = level == :bodies
      @curl = curl
      freeze
    end

    def call_begins(call, _probe_context) = call

    # @param call [Policy::Call]
    # @param result [Response, Exception]
    def call_ends(call, result)
      logger = @logger || Trunkline.logger
      return if logger.respond_to?(:info?) && !logger.info?

      duration = Engine.now - call.began
      text = [LogLine.of(call.request, result, duration, call.tries), *detail_lines(call, result)].join("\n  ")
      logger.respond_to?(:info) ? logger.info(text) : logger.warn(text)
    end

    private

    # @return [Array<String>] lines
    def detail_lines(call, result)
      request = (result.request if result.respond_to?(:request)) || call.request
      redaction = Redaction.of(request)
      lines = []
      lines.concat(request_lines(request, redaction)) if @headers
      lines.concat(response_lines(result, redaction)) if @headers && result.is_a?(Response)
      lines << "#{result.class}: #{result.message}" if @headers && result.is_a?(Exception)
      lines << CurlCommand.of(request, redaction) if @curl
      lines
    end

    def request_lines(request, redaction)
      lines = ["#{request.method} #{redaction.url(request.url)}", *field_lines(request.headers, redaction)]
      type = request.headers["content-type"]
      lines.concat(body_lines(request.body_string, type, redaction)) if @bodies && request.content?
      prefixed(">", lines)
    end

    def response_lines(response, redaction)
      lines = ["#{response.status} #{response.reason}".rstrip, *field_lines(response.headers, redaction)]
      body = response.body unless response.request.streaming? || !@bodies
      lines.concat(body_lines(body, response["content-type"], redaction)) if @bodies
      prefixed("<", lines)
    end

    # Escapes control characters, which a terminal would interpret.
    def prefixed(prefix, lines)
      lines.map { |line| "#{prefix} #{line.gsub(CONTROL) { |character| character.dump[1..-2] }}".rstrip }
    end

    def field_lines(headers, redaction)
      redaction.fields(headers).map { |name, value| "#{name}: #{text(value)}" }
    end

    # @param body [String, nil] nil for a streamed body
    # @return [Array<String>]
    def body_lines(body, type, redaction)
      return ["[a streamed body]"] if body.nil?
      return [] if body.empty?

      text = BodyText.of(body, BODY) or return ["[#{body.bytesize} bytes of #{type || "no type"}]"]
      lines = redaction.body(text, type).split("\n", -1)
      lines << "[the first #{BODY} of #{body.bytesize} bytes]" if body.bytesize > BODY
      ["", *lines]
    end

    def text(value) = value.dup.force_encoding(Encoding::UTF_8).scrub
  end
end
