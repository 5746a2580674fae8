# frozen_string_literal: true

require_relative "attempt"
require_relative "body_reading"
require_relative "connection_info"
require_relative "errors"
require_relative "headers"
require_relative "redacted"
require_relative "replay"
require_relative "response/events"
require_relative "response/derived_values"
require_relative "response/json_body"
require_relative "timings"

module Trunkline
  # A response. The engine makes it; its parts become Ruby objects on first use.
  #
  # The engine defines #status (Integer), #reason (String), #[] (the value of a header field; several values are joined
  # by ", "), #body (String, memoised, in the charset of Content-Type), #request, #length_unknown? (whether the body
  # ends with the connection, so that a truncated body cannot be detected), #complete?, #close; and methods that are not
  # public, which engine.rb lists.
  class Response
    include BodyReading
    include Events
    include Redacted
    include DerivedValues
    include JSONBody

    # Makes a response that came over no connection, for a middleware that responds in place of the server.
    #
    # @param request [Request] the request of the response
    # @param status [Integer] 200 to 599
    # @param headers [Hash, Array] as the option headers: of a call
    # @param body [String] as the caller gets it: it is not decoded
    # @return [Response] to be read piece by piece if the request is streamed
    # @raise [InvalidRequest] for an invalid argument
    def self.build(request:, status:, headers: {}, body: "")
      raise InvalidRequest.of("request", request, "a Request") unless request.is_a?(Request)
      raise InvalidRequest.of("status", status, "an Integer from 200 to 599") unless
        status.is_a?(Integer) && status.between?(200, 599)
      raise InvalidRequest.of("body", body, "a String") unless body.is_a?(String)

      from_parts(request, status, "", Headers.pairs(headers), body)._streamed_if_requested
    end

    # @param pairs [Array<Array(String, String)>]
    # @return [Response]
    # @api private
    def self.from_parts(request, status, reason, pairs, body)
      fields = pairs.filter_map { |name, value| "#{name}: #{value}\r\n".b if value }
      head = "HTTP/1.1 #{format("%03d", status)} #{reason}\r\n".b + fields.join + "\r\n"
      Engine.response(request, head, body)
    end

    # @param request [Request] the request of another caller
    # @return [Response] the same response for that request, with a separate body
    # @api private
    def _copy_for(request)
      copy = Response.from_parts(request, status, reason, _pairs, body)
      copy._copy_transport_from(self)._mark_shared._streamed_if_requested
    end

    # @param response [Response] the server's response, which this one replaces
    # @return [self]
    # @api private
    def _copy_transport_from(response)
      @connection = response.connection
      @timings = response.timings
      _set_attempts(response.attempts)
    end

    # @api private
    def _mark_shared
      @shared = true
      self
    end

    # @return [Boolean] whether the response was received for the request of another call (coalesce:)
    # @api private
    def shared? = @shared == true

    # @return [Cache::Status, nil] what the cache (option cache:) has done for the call; nil without a cache
    attr_reader :cache

    # @param status [Cache::Status]
    # @return [self]
    # @api private
    def _set_cache_status(status)
      @cache = status
      self
    end

    # @return [self] to be read piece by piece if the request is streamed
    # @api private
    def _streamed_if_requested = request.streaming? ? extend(Replay).replay._mark_streamed : self

    # @return [String] the version of HTTP: "2", "1.1" or "1.0"
    def http_version
      case minor_version
      when nil then "2"
      when 0 then "1.0"
      else "1.1"
      end
    end

    # @return [Headers] the header fields of the response
    def headers
      @headers || keep(:@headers, Headers.received(self))
    end

    # @return [Headers] the trailer fields; empty until the body has been read
    def trailers
      Headers.new(_trailers)
    end

    # @api private
    # @return [Array<Array(String, String)>] name and value of each field
    def _pairs
      @pairs || keep(:@pairs, _fields.freeze)
    end

    # Empties the body, so that the next response can use its memory. A caller that has kept the body has an empty
    # String.
    # @api private
    def _empty
      body.clear unless body.frozen?
    end

    # @return [Boolean] whether the status is 200 to 299
    def ok? = status.between?(200, 299)

    # If a streamed response has an error status, up to 64 KiB of its body are read within a second and become #body,
    # which may be incomplete (see #complete?). If the body is larger or slower, the response is closed; #body of a
    # slower one raises. In each case the response no longer holds its connection.
    #
    # @return [self] when the status is below 400
    # @raise [ClientError] for 4xx
    # @raise [ServerError] for 5xx
    def raise_for_status!
      status < 400 ? self : raise(_status_error)
    end

    # @api private
    # @return [ClientError, ServerError] the error for a status of 4xx or 5xx; the body of a streamed response is read
    #   or closed first (see #raise_for_status!)
    def _status_error
      settle if @streamed
      (status < 500 ? ClientError : ServerError).about(self, "was answered #{status} #{reason}".rstrip)
    end

    # @return [String] the URL of the request, after redirects
    def url = request.url

    # @return [Engine::Switched, nil] the connection, if the request asked to switch protocols and the server agreed
    # @api private
    def _switched = @switched

    # @return [Array<Response>] the redirect responses that led to this one, oldest first
    def redirects = @redirects || [].freeze

    # @return [Array<Response>] the 401 responses for whose challenges this request was signed (auth:, digest:)
    def challenges = @challenges || [].freeze

    # @return [Timings] the times of the phases; for a streamed response that is not complete, those until now
    def timings
      return @timings if @timings

      timings = Timings.new(*_timings)
      complete? ? keep(:@timings, timings) : timings
    end

    # @return [ConnectionInfo] the connection over which the response came
    def connection
      @connection || keep(:@connection, ConnectionInfo.new(**_connection))
    end

    # @return [Array<Attempt>] the requests that were sent for the call; usually one
    def attempts
      known = @attempts # read once: callers that share the response (coalesce:) may call this method at the same time
      return keep(:@attempts, known.attempts) if known.respond_to?(:attempts) # a Policy::Log

      known || keep(:@attempts, _exchange_attempts)
    end

    # @return [Array<Attempt>] the attempts of the exchange that produced this response
    # @api private
    def _exchange_attempts
      Attempt.list(_attempts, status: status, elapsed: timings.total, waited: timings.queue, started_at: started_at,
                              connection: connection)
    end

    # @param attempts [Policy::Log, Array<Attempt>] all attempts of the call, including those of this response
    # @return [self]
    # @api private
    def _set_attempts(attempts)
      @attempts = attempts
      self
    end

    # @return [Array<Headers>] the header fields of each 103 (Early Hints) response (RFC 8297)
    def early_hints
      @early_hints || keep(:@early_hints, _early_hints.map { |fields| Headers.new(fields) }.freeze)
    end

    # @return [String] status, method and URL, with the query hidden
    def inspect
      "#<#{self.class} #{status} #{request.method} #{request.uri.shown}>"
    end

    # @api private
    def _mark_streamed
      @streamed = true
      self
    end

    # @api private
    def _set_challenges(responses)
      @challenges = responses.freeze unless responses.empty?
      self
    end

    # Maximum bytes of an unwanted response that are read so that its connection can be reused.
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
    def _set_redirects(responses)
      @redirects = responses.freeze unless responses.empty?
      self
    end

    # @param bytes [String] bytes of the body that were read elsewhere, and are to be read again
    # @return [void]
    # @api private
    def _hold_rest(bytes) = _hold(bytes)

    # @return [Float, nil] monotonic seconds at which the first byte of the response arrived; nil: the response came
    #   over no connection
    # @api private
    def _first_byte_at
      began = _began
      began && (began + timings.to_h.values_at(*(Timings::PHASES - [:total])).compact.sum)
    end

    private

    # Stores a value that was computed on first use. A frozen response computes it at each call.
    def keep(name, value)
      instance_variable_set(name, value) unless frozen?
      value
    end

    # @return [Time, nil]
    def started_at
      began = _began
      began && (Time.now - (Engine.now - began))
    end

    def settle
      _settle(DISCARD_BYTES)
      @streamed = false if complete? && !frozen?
    rescue Error
      nil # the error status is raised rather than this error
    end

    private :_read, :_whole_characters, :_fields, :_trailers, :_timings, :_connection, :_attempts, :_began,
            :_early_hints, :minor_version
  end
end
