# frozen_string_literal: true

module Trunkline
  # An invalid argument: a URL, method, header field, body or option. Raised before anything is sent, except for an
  # invalid value that a callable or a streamed body provides later.
  class InvalidRequest < ArgumentError
    # Maximum number of characters of a value in a message.
    MAX_SHOWN = 80
    # Arguments whose values may be credentials: messages never show such a value.
    SECRET = /\A(?:headers|params|form|json|body|multipart|bearer|basic|digest|auth|cookies|netrc|proxy|options
                 |requests?)\b/x
    private_constant :MAX_SHOWN, :SECRET

    # @param argument [String, Symbol] name of the argument
    # @param value [Object] the value that the caller gave
    # @param allowed [String] describes the valid values
    # @return [InvalidRequest]
    def self.of(argument, value, allowed)
      new("#{argument}: must be #{allowed}, got #{shown(argument, value)}")
    end

    # @return [String] the value, without any part that may be a credential
    # @api private
    def self.shown(argument, value)
      text = case value
             when nil, true, false, Numeric, Module then value.inspect
             when String, Symbol then shown_text(argument, value)
             else (value.to_path&.inspect if value.respond_to?(:to_path)) || "an instance of #{value.class}"
             end
      text.length > MAX_SHOWN ? "#{text[0, MAX_SHOWN]}..." : text
    end

    # Hides everything before the last "@", because userinfo precedes it.
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

  # Base class of the errors of calls. Its readers describe the state of the call when it failed.
  class Error < StandardError
    # @return [Request, nil] the request that failed
    attr_reader :request
    # @return [Symbol, nil] the phase that failed: :queue, :resolve, :connect, :tls, :write, :first_byte or :read
    attr_reader :phase
    # @return [Float, nil] seconds from the beginning of the call to the failure
    attr_reader :elapsed
    # @return [Integer, nil] number of the attempt that failed, from 1
    attr_reader :attempt
    # @return [Symbol, nil] how much of the request the server may have received: :none, :partial or :all
    attr_reader :sent
    # @return [Float, nil] seconds since the connection was opened; nil without a connection
    attr_reader :connection_age
    # @return [Integer, nil] errno of the system call that failed; nil when none did
    attr_reader :errno

    # @param response [Response]
    # @param predicate [String] the rest of the sentence that begins with "GET /path at api.test:443"
    # @return [Error] about a response that was received
    def self.about(response, predicate)
      request = response.request
      new("#{request.method} #{request.uri.path} at #{request.uri.label} #{predicate}",
          response: response, request: request, phase: :read, sent: :all, elapsed: response.timings.total,
          attempt: response.attempts.size, attempts: response.attempts, connection_age: response.connection.age)
    end

    # @param message [String, nil] may contain bytes from a server; invalid UTF-8 is replaced
    # @param facts [Hash] values of the readers, by name
    def initialize(message = nil, facts = {})
      super(message && Error.text(message))
      @facts = facts
      @request, @phase, @elapsed, @attempt, @sent, @connection_age =
        facts.values_at(:request, :phase, :elapsed, :attempt, :sent, :connection_age)
      @attempts = facts[:attempts] || []
      @errno = facts[:errno]&.nonzero?
    end

    # @return [String] bytes as valid UTF-8, so that the message can be joined with any other text
    # @api private
    def self.text(bytes)
      bytes.ascii_only? ? bytes : bytes.dup.force_encoding(Encoding::UTF_8).scrub
    end

    # Marshal and YAML write the error without credentials: no response, no cause, and the request without its body, its
    # query and the values of header fields that may be credentials (see Headers#inspect). Uses _dump, because
    # Marshal.load of Ruby 3.1 does not find the marshal_load of an exception.
    # @return [String]
    def _dump(_level) = Marshal.dump([message, redacted_facts, backtrace])

    # @return [Error]
    # @api private
    def self._load(bytes)
      message, facts, backtrace = Marshal.load(bytes) # rubocop:disable Security/MarshalLoad -- Marshal calls this
      new(message, facts).tap { |error| error.set_backtrace(backtrace) if backtrace }
    end

    # @api private for YAML
    def encode_with(coder)
      coder.map = { "message" => message, "facts" => redacted_facts, "backtrace" => backtrace }
    end

    # @api private
    def init_with(coder)
      initialize(*coder.map.values_at("message", "facts"))
      set_backtrace(coder["backtrace"]) if coder["backtrace"]
    end

    # Copies the error with some facts changed, for a call that spans several requests.
    # @param facts [Hash{Symbol => Object}] the changed facts
    # @param name [Symbol] class name of the copy
    # @return [Error]
    # @api private
    def with_facts(facts, name = self.class.name.split("::").last.to_sym)
      return Engine.failure(name, @facts.merge(facts)) if @facts.key?(:code)

      self.class.new(message, @facts.merge(facts))
    end

    # @return [Boolean] whether the server reported that it has not processed the request (RFC 9113 8.7)
    def unprocessed? = @facts[:unprocessed] ? true : false

    # @return [Array<Attempt>] every attempt of the call, including the failed one
    def attempts
      known = @attempts # read once: another thread may replace it meanwhile
      known.is_a?(Array) ? known : (@attempts = known.attempts) # a Policy::Log
    end

    # @return [Array<Attempt>] attempts of the exchange that failed
    # @api private
    def _exchange_attempts = @facts[:attempts] || []

    # @param attempts [Policy::Log, Array<Attempt>] all attempts of the call, including those of this error
    # @return [self]
    # @api private
    def _set_attempts(attempts)
      @attempts = attempts
      self
    end

    private

    def redacted_facts
      facts = @facts.except(:response, :body)
      facts[:fields] = Headers.redact(facts[:fields]) if facts[:fields]
      facts
    end
  end

  # Included in errors that are about a response.
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

  # A call was made in a Ractor other than the main one, which owns all clients and connections.
  class RactorError < Error
    # @raise [RactorError] in a Ractor other than the main one
    # @api private
    def self.refuse
      raise build if defined?(Ractor) && !Ractor.current.equal?(Ractor.main)
    end

    # @return [RactorError]
    # @api private
    def self.build
      new("Trunkline's clients and connections belong to the main Ractor: they can neither be used in another one " \
          "nor be given to it; nothing was sent. Make calls in the main Ractor (its threads, client.async) and send " \
          "their results to others", phase: :queue, sent: :none)
    end
  end

  # No connection could be used, or the connection broke before a response began.
  class ConnectionError < Error; end
  # The host's name has no address, or the resolver failed.
  class ResolveError < ConnectionError; end
  # Every address of the host refused the connection, or could not be reached.
  class ConnectError < ConnectionError; end
  # The TLS handshake failed, a TLS file cannot be used, or the TLS connection broke.
  class TLSError < ConnectionError; end
  # The server's certificate is not trusted, has expired, or names another host.
  class CertificateError < TLSError; end
  # The option egress: does not allow the connection. The message names the address and the rule, or the missing
  # setting.
  class EgressRefused < ConnectionError; end
  # The server closed or reset the connection without a response.
  class ConnectionClosed < ConnectionError; end
  # The connection was opened by the parent process; a forked child must not use it.
  class ForkedConnection < ConnectionError; end

  # A proxy did not open a connection to the server: it refused with a status, it broke the protocol, or it closed its
  # own connection.
  class ProxyError < ConnectionError
    # @return [Integer, nil] status of an HTTP proxy's refusal, such as 407; nil when it sent none
    attr_reader :status
    # @return [Headers] header fields of the refusal
    attr_reader :headers
    # @return [String] body of the refusal, cut after 16 KiB
    attr_reader :body

    def initialize(message = nil, facts = {})
      super
      @status = facts[:status]
      @headers = Headers.new(facts[:fields] || [])
      @body = facts[:body] || ""
    end
  end

  # A timeout was reached; the subclass says which one.
  class TimeoutError < Error; end
  # The host's name was not resolved in time.
  class ResolveTimeout < TimeoutError; end
  # No connection could be opened in time.
  class ConnectTimeout < TimeoutError; end
  # The TLS handshake did not end in time.
  class TLSTimeout < TimeoutError; end
  # The server accepted no byte of the request for as long as the write timeout.
  class WriteTimeout < TimeoutError; end
  # The request was sent, and no byte of a response arrived in time.
  class FirstByteTimeout < TimeoutError; end
  # A response had begun, and no further byte arrived in time.
  class ReadTimeout < TimeoutError; end
  # No connection became free in time, because max_connections_per_host or max_connections were in use; or rate: would
  # have delayed the request for too long.
  class QueueTimeout < TimeoutError; end
  # The whole call, with its redirects and retries, did not end in time.
  class TotalTimeout < TimeoutError; end
  # The call did not end, or could not begin, before the deadline of Trunkline.deadline.
  class DeadlineExceeded < TotalTimeout; end

  # The breaker (breaker:) is open, because too many of the last requests to the origin failed. The request was not
  # sent.
  class BreakerOpen < Error
    # @return [Float, nil] seconds until the breaker lets a trial request through; nil when the breaker's store: does
    #   not say
    attr_reader :retry_in

    # @param request [Request]
    # @param refused [Policy::Breaker::Refused]
    # @param facts [Hash] facts of the call
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

  # A response breaks the protocol or exceeds a limit; its connection is closed.
  class ProtocolError < Error; end
  # The syntax or framing of a response violates RFC 9112, or RFC 9113 for HTTP/2.
  class InvalidResponse < ProtocolError; end
  # The server reset the HTTP/2 stream of the response (RST_STREAM) before it was complete; the connection stays open.
  class StreamReset < ProtocolError; end
  # The header or trailer section of a response exceeds max_header_bytes or max_headers.
  class HeadersTooLarge < ProtocolError; end
  # A response ended before its head or its body was complete; the message says which.
  class TruncatedBody < ProtocolError; end

  # The content coding (gzip, deflate, br, zstd) is corrupt, cut short, or followed by other bytes. Or the body is not
  # the JSON that Response#json or #each_json expects: then #response is set, and #cause is a JSON::ParserError or the
  # exception of json_decoder:.
  class DecodeError < ProtocolError
    include WithResponse
  end

  # The body of a response is larger than max_body_bytes; or it has more than 16 MiB and more than max_decode_ratio
  # times the bytes that were received; or a value in it is larger than limit: of Response#each_json.
  class BodyTooLarge < ProtocolError; end

  # An event of an event stream is larger than limit: of Response#each_event or Client#events.
  class EventTooLarge < BodyTooLarge; end

  # The body of the request had more or fewer bytes than its declared length.
  class BodyError < Error; end

  # A response that cannot be used; #response returns it.
  class AnswerError < Error
    include WithResponse
  end

  # A file could not be downloaded: another process is downloading it, its bytes do not match, or the server sent other
  # bytes than requested. #response is the response, if there is one.
  class DownloadError < AnswerError; end

  # A redirect was not followed; #response is the redirect.
  class RedirectError < AnswerError; end
  # There were more redirects than follow: allows.
  class TooManyRedirects < RedirectError; end
  # A redirect leads back to a request that the call has already made.
  class RedirectLoop < RedirectError; end
  # A redirect would send credentials or a body from https to http, leads to a URL that is invalid or neither http nor
  # https, or requires a body again that cannot be rewound.
  class UnsafeRedirect < RedirectError; end

  # The response to Client#events is not an event stream that can be followed: its status is not 200, it has another
  # Content-Type, too many streams in a row were empty, or an event's id has control characters.
  class NoEventStream < AnswerError; end

  # An authentication challenge (401) that cannot be answered; #response is the challenge.
  class AuthError < AnswerError; end

  # A response with a status of 4xx or 5xx, raised by Response#raise_for_status!, and by calls with raise: true.
  # #response returns it; of a body that was to be streamed, it has at most 64 KiB (see Response#raise_for_status!).
  class StatusError < AnswerError; end
  # Status 400 to 499.
  class ClientError < StatusError; end
  # Status 500 to 599.
  class ServerError < StatusError; end
end
