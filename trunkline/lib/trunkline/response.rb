# frozen_string_literal: true

require_relative "attempt"
require_relative "body_reading"
require_relative "connection_info"
require_relative "errors"
require_relative "headers"
require_relative "redacted"
require_relative "replay"
require_relative "response/events"
require_relative "response/facts"
require_relative "response/json_body"
require_relative "timings"

module Trunkline
  # An answer. Made by the engine; what it knows becomes Ruby objects when it is asked for.
  #
  # From the engine itself: #status (Integer), #reason (String), #[] (a field's value; several joined by ", "),
  # #body (String, memoised, in the charset of its Content-Type), #request, #length_unknown? (whether the body
  # ended with the connection, so that no one can tell it was whole), #complete?, #close; not public: #_fields_by_name
  # (a Hash, see Headers#to_h).
  class Response
    include BodyReading
    include Events
    include Redacted
    include Facts
    include JSONBody

    # Makes an answer that came over no connection: what a middleware gives in the place of a server's.
    #
    # @param request [Request] that it answers
    # @param status [Integer] 200 to 599
    # @param headers [Hash, Array] as those of a call
    # @param body [String] as the caller is to get it: it is not decoded
    # @return [Response]
    # @raise [InvalidRequest]
    def self.build(request:, status:, headers: {}, body: "")
      raise InvalidRequest.of("request", request, "a Request") unless request.is_a?(Request)
      raise InvalidRequest.of("status", status, "an Integer from 200 to 599") unless
        status.is_a?(Integer) && status.between?(200, 599)
      raise InvalidRequest.of("body", body, "a String") unless body.is_a?(String)

      made(request, status, "", Headers.pairs(headers), body)._as_asked
    end

    # @param pairs [Array<Array(String, String)>]
    # @return [Response]
    # @api private
    def self.made(request, status, reason, pairs, body)
      fields = pairs.filter_map { |name, value| "#{name}: #{value}\r\n".b if value }
      head = "HTTP/1.1 #{format("%03d", status)} #{reason}\r\n".b + fields.join + "\r\n"
      Engine.response(request, head, body)
    end

    # @param request [Request] of another caller
    # @return [Response] the same answer for it, with a body of its own
    # @api private
    def _for(request) = Response.made(request, status, reason, _pairs, body)._sent_as(self)._shared._as_asked

    # @param response [Response] that the server gave, in the place of which this one is
    # @return [self]
    # @api private
    def _sent_as(response)
      @connection = response.connection
      @timings = response.timings
      _attempted(response.attempts)
    end

    # @api private
    def _shared
      @shared = true
      self
    end

    # @return [Boolean] whether it is the answer to another call's request (coalesce:)
    # @api private
    def shared? = @shared == true

    # @return [Cache::Status, nil] what the cache has done for the call; nil without one (cache:)
    attr_reader :cache

    # @param status [Cache::Status]
    # @return [self]
    # @api private
    def _cached(status)
      @cache = status
      self
    end

    # @return [self] to be read piece by piece if its request wants that
    # @api private
    def _as_asked = request.streaming? ? extend(Replay).replay._streamed : self

    # @return [String] "2", "1.1" or "1.0"
    def http_version
      case minor_version
      when nil then "2"
      when 0 then "1.0"
      else "1.1"
      end
    end

    # @return [Headers]
    def headers
      @headers ||= Headers.received(self)
    end

    # @return [Headers] the fields after a chunked body; empty until it has been read
    def trailers
      Headers.new(_trailers)
    end

    # @api private
    # @return [Array<Array(String, String)>] name and value of each field
    def _pairs
      @pairs ||= _fields.freeze
    end

    # @api private the body's memory goes to the next answer's: who has kept the body has an empty String
    def _empty
      body.clear unless body.frozen?
    end

    # @return [Boolean] whether the status is 200 to 299
    def ok? = status.between?(200, 299)

    # Of a streamed answer that is refused, up to 64 KiB that come within a second are read, and are the #body, which
    # may be a part (see #complete?). One that is larger or slower is closed, and the #body of a slower one raises.
    # Either way its connection is not held any more.
    #
    # @return [self] when the status is below 400
    # @raise [ClientError] for 4xx
    # @raise [ServerError] for 5xx
    def raise_for_status!
      status < 400 ? self : raise(_status_error)
    end

    # @api private
    # @return [ClientError, ServerError] of a status of 4xx or 5xx, after #settle
    def _status_error
      settle if @streamed
      (status < 500 ? ClientError : ServerError).about(self, "was answered #{status} #{reason}".rstrip)
    end

    # @return [String] where the answer came from, after redirects
    def url = request.url

    # @return [Engine::Switched, nil] the connection, of an answer of status 101 that was asked for
    # @api private
    def _switched = @switched

    # @return [Array<Response>] the redirects that led here, oldest first
    def redirects = @redirects || [].freeze

    # @return [Array<Response>] the answers (401) that asked for the signature this request has (auth:, digest:)
    def challenges = @challenges || [].freeze

    # @return [Timings] of a streamed answer: as far as it has come
    def timings
      return @timings if @timings

      timings = Timings.new(*_timings)
      complete? ? @timings = timings : timings
    end

    # @return [ConnectionInfo]
    def connection
      @connection ||= ConnectionInfo.new(**_connection)
    end

    # @return [Array<Attempt>] usually one
    def attempts
      known = @attempts # read once: other callers of the same answer (coalesce:) may ask at the same time
      return @attempts = known.attempts if known.respond_to?(:attempts) # a Policy::Log

      known || (@attempts = _own_attempts)
    end

    # @return [Array<Attempt>] of the exchange that it came of
    # @api private
    def _own_attempts
      Attempt.list(_attempts, status: status, elapsed: timings.total, waited: timings.queue, started_at: started_at,
                              connection: connection)
    end

    # @param attempts [Policy::Log, Array<Attempt>] of all its call, this one's included
    # @return [self]
    # @api private
    def _attempted(attempts)
      @attempts = attempts
      self
    end

    # @return [Array<Headers>] what came with 103 Early Hints (RFC 8297)
    def early_hints
      @early_hints ||= _early_hints.map { |fields| Headers.new(fields) }.freeze
    end

    # @return [String]
    def inspect
      "#<#{self.class} #{status} #{request.method} #{request.uri.shown}>"
    end

    # @api private
    def _streamed
      @streamed = true
      self
    end

    # @api private
    def _challenged(responses)
      @challenges = responses.freeze unless responses.empty?
      self
    end

    # Of an answer that nobody will have, what is read so that its connection can be kept.
    DISCARD_BYTES = 64 * 1024

    # @api private
    def _discard
      left = DISCARD_BYTES
      until complete?
        chunk = read or break
        left -= chunk.bytesize
        break if left.negative?
      end
      self
    ensure
      close
    end

    # @api private
    def _redirected(responses)
      @redirects = responses.freeze unless responses.empty?
      self
    end

    # @param bytes [String] of a body that others have read, to be read once more
    # @return [void]
    # @api private
    def _hold_rest(bytes) = _hold(bytes)

    # @return [Float, nil] monotonic seconds, when its first byte was there; nil: it came over no connection
    # @api private
    def _first_byte_at
      began = _began
      began && (began + timings.to_h.values_at(*(Timings::PHASES - [:total])).compact.sum)
    end

    private

    # @return [Time, nil]
    def started_at
      began = _began
      began && (Time.now - (Engine.now - began))
    end

    def settle
      _settle(DISCARD_BYTES)
      @streamed = false if complete?
    rescue Error
      nil # that it was refused matters more
    end

    private :_read, :_whole_characters, :_fields, :_trailers, :_timings, :_connection, :_attempts, :_began,
            :_early_hints, :minor_version
  end
end
