# frozen_string_literal: true

module Trunkline
  # An argument that cannot be sent: a URL, method, header, body or option. Raised before anything is sent.
  class InvalidRequest < ArgumentError
    # Longer values are cut in messages.
    SHOWN = 80
    # Arguments whose values may be credentials: an error tells the class of such a value alone.
    SECRET = /\A(?:headers|params|form|json|body|multipart|bearer|basic|digest|auth|cookies|netrc|proxy|options
                 |requests?)\b/x
    private_constant :SHOWN, :SECRET

    # @param argument [String, Symbol] which argument it was
    # @param value [Object] what was given
    # @param allowed [String] what would have been accepted
    # @return [InvalidRequest]
    def self.of(argument, value, allowed)
      new("#{argument}: must be #{allowed}, got #{shown(argument, value)}")
    end

    # @return [String] a value as far as no credential can be in it
    # @api private
    def self.shown(argument, value)
      text = case value
             when nil, true, false, Numeric, Module then value.inspect
             when String, Symbol then shown_text(argument, value)
             else (value.to_path&.inspect if value.respond_to?(:to_path)) || "an instance of #{value.class}"
             end
      text.length > SHOWN ? "#{text[0, SHOWN]}..." : text
    end

    # User and password stand before an "@".
    def self.shown_text(argument, text)
      hidden = SECRET.match?(argument) || text.to_s.b.include?("-----BEGIN")
      return "a #{text.class} of #{text.length} characters, which is not shown" if hidden
      return text.inspect unless text.to_s.b.include?("@")

      "[hidden]@#{text.to_s.b[/[^@]*\z/]}".inspect
    end
    private_class_method :shown_text
  end

  # No timeout was given for the call, the client or the process.
  class MissingTimeout < ArgumentError
    def initialize(message = "timeout: is required; give seconds (timeout: 5), phases " \
                             "(timeout: { connect: 1, total: 5 }), or a default for the process " \
                             "(Trunkline.configure { |defaults| defaults.timeout = 5 }), which does not count " \
                             "with require_timeouts")
      super
    end
  end

  # The failure of a call that has begun. It tells how far the call had come.
  class Error < StandardError
    # @return [Request, nil] what was asked
    attr_reader :request
    # @return [Symbol, nil] :queue, :resolve, :connect, :tls, :write, :first_byte or :read
    attr_reader :phase
    # @return [Float, nil] seconds from the beginning of the call to the failure
    attr_reader :elapsed
    # @return [Integer, nil] number of the attempt that failed, from 1
    attr_reader :attempt
    # @return [Symbol, nil] what the server can have seen: :none, :partial or :all of the request
    attr_reader :sent
    # @return [Float, nil] seconds since the connection was made; nil when there was none
    attr_reader :connection_age
    # @return [Integer, nil] the system's number for what happened (Errno); nil when it was not the system
    attr_reader :errno

    # @param response [Response]
    # @param what [String] the rest of the sentence that begins with "GET /path at api.test:443"
    # @return [Error] about an answer that has been received
    # @api private
    def self.about(response, what)
      request = response.request
      new("#{request.method} #{request.uri.path} at #{request.uri.label} #{what}",
          response: response, request: request, phase: :read, sent: :all, elapsed: response.timings.total,
          attempt: response.attempts.size, attempts: response.attempts, connection_age: response.connection.age)
    end

    # @param message [String, nil] parts of it may be bytes from a server
    # @param facts [Hash] values of the readers, by name; others are ignored
    def initialize(message = nil, facts = {})
      super(message && Error.text(message))
      @facts = facts
      @request, @phase, @elapsed, @attempt, @sent, @connection_age =
        facts.values_at(:request, :phase, :elapsed, :attempt, :sent, :connection_age)
      @attempts = facts[:attempts] || []
      @errno = facts[:errno]&.nonzero?
    end

    # @return [String] bytes as valid UTF-8, so that a message can be joined with any other text
    # @api private
    def self.text(bytes)
      bytes.ascii_only? ? bytes : bytes.dup.force_encoding(Encoding::UTF_8).scrub
    end

    # Marshal and YAML write what the error tells without a credential: the request without its body, its query and the
    # values of its header fields, as far as these are unknown (see Headers#inspect); no response, no cause. By _dump:
    # Marshal.load of Ruby 3.1 does not find the marshal_load of an exception.
    # @return [String]
    def _dump(_level) = Marshal.dump([message, shown_facts, backtrace])

    # @return [Error]
    # @api private
    def self._load(bytes)
      message, facts, backtrace = Marshal.load(bytes) # rubocop:disable Security/MarshalLoad -- Marshal calls this
      new(message, facts).tap { |error| error.set_backtrace(backtrace) if backtrace }
    end

    # @api private for YAML
    def encode_with(coder)
      coder.map = { "message" => message, "facts" => shown_facts, "backtrace" => backtrace }
    end

    # @api private
    def init_with(coder)
      initialize(*coder.map.values_at("message", "facts"))
      set_backtrace(coder["backtrace"]) if coder["backtrace"]
    end

    # The same failure with some facts corrected: those of a call that spans several requests.
    # @param facts [Hash{Symbol => Object}]
    # @param name [Symbol] of another class
    # @return [Error]
    # @api private
    def retold(facts, name = self.class.name.split("::").last.to_sym)
      return Engine.failure(name, @facts.merge(facts)) if @facts.key?(:code)

      self.class.new(message, @facts.merge(facts))
    end

    # @return [Boolean] whether the server said that it has not acted on the request (RFC 9113 8.7)
    def unprocessed? = @facts[:unprocessed] ? true : false

    # @return [Array<Attempt>] every attempt of the call, the failed one included
    def attempts
      known = @attempts # read once: other threads may ask at the same time
      known.is_a?(Array) ? known : (@attempts = known.attempts) # a Policy::Log
    end

    # @return [Array<Attempt>] of the exchange that failed
    # @api private
    def _own_attempts = @facts[:attempts] || []

    # @param attempts [Policy::Log, Array<Attempt>] of all its call, this one's included
    # @return [self]
    # @api private
    def _attempted(attempts)
      @attempts = attempts
      self
    end

    private

    def shown_facts
      facts = @facts.except(:response, :body)
      facts[:fields] = Headers.redact(facts[:fields]) if facts[:fields]
      facts
    end
  end

  # For errors about a response that was received.
  # @api private
  module WithResponse
    # @return [Response, nil]
    attr_reader :response

    def initialize(message = nil, facts = {})
      super
      @response = facts[:response]
    end
  end

  # The client, or the pool it uses, was closed.
  class ClosedError < Error; end

  # A call was tried in another Ractor than the main one, which alone has clients and connections.
  class RactorError < Error
    # @raise [RactorError] in any but the main Ractor
    # @api private
    def self.refuse
      raise made if defined?(Ractor) && !Ractor.current.equal?(Ractor.main)
    end

    # @return [RactorError]
    # @api private
    def self.made
      new("Trunkline's clients and connections belong to the main Ractor: they can neither be used in another one " \
          "nor be given to it; nothing was sent. Make calls in the main Ractor (its threads, client.async) and send " \
          "their results to others", phase: :queue, sent: :none)
    end
  end

  # No usable connection, or it broke before an answer began.
  class ConnectionError < Error; end
  # The host's name has no address, or the resolver failed.
  class ResolveError < ConnectionError; end
  # Every address of the host refused or failed.
  class ConnectError < ConnectionError; end
  # The TLS handshake failed, a TLS file cannot be used, or the TLS connection broke.
  class TLSError < ConnectionError; end
  # The server's certificate is not trusted, has expired, or names another host.
  class CertificateError < TLSError; end
  # egress: does not allow the connection; the message names the address and the rule, or what the rule lacks.
  class EgressRefused < ConnectionError; end
  # The server closed or reset the connection without an answer.
  class ConnectionClosed < ConnectionError; end
  # The connection was opened by the parent process; a forked child must not use it.
  class ForkedConnection < ConnectionError; end

  # A proxy did not open the way to the server: it refused, with a status, it broke the protocol, or it closed the
  # connection.
  class ProxyError < ConnectionError
    # @return [Integer, nil] the status an HTTP proxy refused with, such as 407; nil when it said none
    attr_reader :status
    # @return [Headers] what came with it
    attr_reader :headers
    # @return [String] the body that came with it, cut after 16 KiB
    attr_reader :body

    def initialize(message = nil, facts = {})
      super
      @status = facts[:status]
      @headers = Headers.new(facts[:fields] || [])
      @body = facts[:body] || ""
    end
  end

  # A limit of time was reached; the subclass tells which.
  class TimeoutError < Error; end
  # The host's name was not resolved in time.
  class ResolveTimeout < TimeoutError; end
  # No connection was made in time.
  class ConnectTimeout < TimeoutError; end
  # The TLS handshake did not end in time.
  class TLSTimeout < TimeoutError; end
  # The server took no byte of the request for that long.
  class WriteTimeout < TimeoutError; end
  # The request was sent and no byte of an answer came in time.
  class FirstByteTimeout < TimeoutError; end
  # An answer had begun and no further byte came in time.
  class ReadTimeout < TimeoutError; end
  # No connection became free in time: max_connections_per_host of them were in use.
  class QueueTimeout < TimeoutError; end
  # The whole call, with its redirects and retries, did not end in time.
  class TotalTimeout < TimeoutError; end
  # The call did not end, or could not begin, before the end that Trunkline.deadline set.
  class DeadlineExceeded < TotalTimeout; end

  # The origin was not called, since too many of its last requests have failed (breaker:). Nothing was sent.
  class BreakerOpen < Error
    # @return [Float, nil] seconds until the breaker lets a request through to see whether the origin is well again; nil
    #   when the store: of the breaker does not tell
    attr_reader :retry_in

    # @param request [Request]
    # @param refused [Policy::Breaker::Refused]
    # @param facts [Hash] of the call
    # @return [BreakerOpen]
    # @api private
    def self.of(request, refused, facts)
      new("#{request.method} #{request.uri.path} was not sent: the breaker of #{request.uri.label} is open, since " \
          "#{refused.message} (breaker:)",
          request: request, phase: :queue, retry_in: refused.retry_in, **facts)
    end

    def initialize(message = nil, facts = {})
      super
      @retry_in = facts[:retry_in]
    end
  end

  # The answer breaks the protocol or a limit; its connection is closed.
  class ProtocolError < Error; end
  # The answer's syntax or framing is not what RFC 9112 (RFC 9113 for HTTP/2) allows.
  class InvalidResponse < ProtocolError; end
  # The server ended the HTTP/2 stream of this answer (RST_STREAM) before it was complete; its connection goes on.
  class StreamReset < ProtocolError; end
  # The header or trailer section is larger than max_header_bytes or max_headers.
  class HeadersTooLarge < ProtocolError; end
  # The answer ended before its head or its body was complete; the message says which.
  class TruncatedBody < ProtocolError; end

  # The content coding (gzip, deflate, br, zstd) is corrupt, cut short, or followed by other bytes. Or Response#json
  # or #each_json found no JSON: then #response is that answer, and #cause a JSON::ParserError.
  class DecodeError < ProtocolError
    include WithResponse
  end

  # The body is larger than max_body_bytes, or has passed 16 MiB and unpacks to more than max_decode_ratio times what
  # was sent; or a value in it is larger than limit: of Response#each_json.
  class BodyTooLarge < ProtocolError; end

  # An event of a stream is larger than allowed (limit: of Response#each_event and Client#events).
  class EventTooLarge < BodyTooLarge; end

  # The request's body gave more or fewer bytes than its length declared.
  class BodyError < Error; end

  # An answer that cannot be taken as it is; #response is that answer.
  class AnswerError < Error
    include WithResponse
  end

  # A file cannot be downloaded: another process downloads it, its bytes are not those that were expected, or the server
  # sent other bytes than it was asked for. #response is the answer, if there is one.
  class DownloadError < AnswerError; end

  # A redirect was not followed; #response is the redirect.
  class RedirectError < AnswerError; end
  # There were more redirects than follow: allows.
  class TooManyRedirects < RedirectError; end
  # A redirect leads back to a request already made.
  class RedirectLoop < RedirectError; end
  # A redirect would take credentials or a body from https to http, leaves http and https, names no valid URL, or asks
  # for a body again that cannot be rewound.
  class UnsafeRedirect < RedirectError; end

  # An answer to Client#events that is no event stream: its status is not 200, its type is another, or there was nothing
  # in it too often.
  class NoEventStream < AnswerError; end

  # A challenge (401) that cannot be answered; #response is it.
  class AuthError < AnswerError; end

  # Raised by Response#raise_for_status!, and by calls with raise: true: the status is 4xx or 5xx. #response is the
  # answer. Of a body that was to be streamed, it has up to 64 KiB (see Response#raise_for_status!).
  class StatusError < AnswerError; end
  # Status 400 to 499.
  class ClientError < StatusError; end
  # Status 500 to 599.
  class ServerError < StatusError; end
end
