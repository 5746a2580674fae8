# frozen_string_literal: true

require_relative "deadline"
require_relative "errors"
require_relative "event_stream_parser"
require_relative "policy"
require_relative "headers"
require_relative "redacted"
require_relative "retry_after"

module Trunkline
  # Follows an event stream over successive connections. See Streams#events.
  #
  # @api private
  class EventSource
    include Redacted

    SAFE = %w[GET HEAD OPTIONS TRACE].freeze
    TYPE = "text/event-stream"
    FIELDS = { "Accept" => TYPE, "Cache-Control" => "no-store" }.freeze
    ATTEMPTS = 10
    # Seconds before a reconnect, unless the server has set them.
    DEFAULT_WAIT = 3.0
    # Maximum seconds of the waits that grow after failures.
    LONGEST_BACKOFF = 30.0
    # Maximum seconds of any wait, also when the server asks for more.
    LONGEST_WAIT = 300.0
    # Errors after which reconnecting may help, except those in PERMANENT_ERRORS. Policy::Retry must be loaded with this
    # file: in a fiber of Async, Ruby 3.1 cannot load files later.
    TRANSIENT_ERRORS = [*Policy::Retry::ERRORS, BreakerOpen].freeze
    PERMANENT_ERRORS = Policy::Retry::PERMANENT_ERRORS

    # @param request [#call] sends a request with the given options of a call, and returns its Response
    # @param method [Symbol, String] HTTP method
    # @param options [Hash] made by StreamOptions
    # @param attempts [Integer, Float::INFINITY, nil] see Streams#events, as for the other keywords
    # @param last_event_id [String, nil]
    # @param on_reconnect [#call, nil]
    # @param limit [Integer, nil]
    # @raise [InvalidRequest]
    def initialize(request, method, options, attempts:, last_event_id:, on_reconnect:, limit:)
      @request = request
      @options = options
      @attempts = attempts_of(attempts, method)
      @on_reconnect = checked_callable(on_reconnect)
      @limit = limit
      @parser = EventStreamParser.new(limit: limit, last_event_id: last_event_id)
      @wait = DEFAULT_WAIT
      @failures = 0
    end

    # @yield [event]
    # @return [nil] when the server has ended the stream with a 204, or a method that is not safe was sent once
    # @raise [Error] see Streams#events
    def each(&block)
      while (reason = follow(&block))
        raise reason if reason.is_a?(Error) && @failures >= @attempts

        break if @attempts.zero?

        wait = wait_after(reason)
        @on_reconnect&.call(reason, wait)
        pause(wait)
      end
    end

    private

    # @return [:ended, Error, nil] why the connection ended; nil after a 204: there are no more events
    def follow(&block)
      @failures += 1
      response = connect
      return response if response.is_a?(Error)
      return if response.status == 204

      reason = read(response, &block)
      check_last_id(response) if @attempts.positive?
      return reason unless reason == :ended && @attempts.positive? && @failures >= @attempts

      NoEventStream.about(response, "was answered 200 and an event stream in which nothing was")
    ensure
      response.close if response.is_a?(Response)
    end

    # @return [Response, Error] the Error, if reconnecting may help; other errors are raised
    def connect
      response = @request.call(with_last_id)
      return response if response.status == 204
      return stream(response) if response.status == 200
      return refuse(response, "no event stream") if response.status < 400

      error = response._status_error
      transient_status?(response.status) ? error : raise(error)
    rescue *TRANSIENT_ERRORS => error
      permanent?(error) ? raise : error
    end

    def stream(response)
      response.content_type == TYPE ? response : refuse(response, response["content-type"].inspect)
    end

    def refuse(response, found)
      response.close
      raise NoEventStream.about(response, "was answered #{response.status} and #{found}, where #{TYPE} was expected")
    end

    # Errors of the block are raised; they do not count as failures of the stream.
    def read(response, &block)
      @parser = EventStreamParser.new(limit: @limit, last_event_id: @parser.last_event_id, response: response)
      while (chunk = next_chunk(response)).is_a?(String)
        @failures = 0
        @parser.feed(chunk, &block)
      end
      @wait = @parser.retry || @wait
      chunk || :ended
    end

    def next_chunk(response)
      response.next_bytes
    rescue *TRANSIENT_ERRORS => error
      error
    end

    # An id with control characters cannot be sent as Last-Event-ID; without it, the server would send old events again.
    def check_last_id(response)
      return unless @parser.last_event_id&.b&.match?(Headers::FORBIDDEN)

      raise NoEventStream.about(response, "was answered 200 and an event whose id has control characters, which " \
                                          "Last-Event-ID cannot have")
    end

    def with_last_id
      id = @parser.last_event_id
      return @options if id.nil? || id.empty?

      headers = @options[:headers]
      field = { "Last-Event-ID" => id }
      @options.merge(headers: headers.is_a?(Hash) ? headers.merge(field) : headers + field.to_a)
    end

    # ---- failures and waits ----

    def permanent?(error) = PERMANENT_ERRORS.any? { |one| error.is_a?(one) }

    def transient_status?(status) = status == 429 || status >= 500

    # After a complete stream, waits for the time that the server has set. After failures the wait grows and is random,
    # so that the clients of a failed server do not reconnect all at once.
    def wait_after(reason)
      most = [@wait * (2**[@failures - 1, 16].min), LONGEST_BACKOFF].min if @failures > 1
      wait = most && most > @wait ? @wait + (rand * (most - @wait)) : @wait
      wait = [wait, wait_asked_by_server(reason)].max
      [wait, LONGEST_WAIT].min
    end

    def wait_asked_by_server(reason)
      return reason.retry_in || 0.0 if reason.is_a?(BreakerOpen)

      (RetryAfter.seconds(reason.response) if reason.is_a?(StatusError)) || 0.0
    end

    # Does not wait beyond the deadline; the next request raises DeadlineExceeded then.
    def pause(wait)
      left = Deadline.left
      Trunkline.sleep(left ? wait.clamp(0.0, [left, 0.0].max) : wait)
    end

    # ---- arguments ----

    # @return [Integer, Float] allowed failures in a row; 0: only one request is sent
    def attempts_of(value, method)
      return value if value == Float::INFINITY || (value.is_a?(Integer) && value.positive?)
      raise InvalidRequest.of("attempts", value, "a positive Integer or Float::INFINITY") unless value.nil?

      SAFE.include?(method.to_s.upcase) ? ATTEMPTS : 0
    end

    def checked_callable(value)
      return value if value.nil? || value.respond_to?(:call)

      raise InvalidRequest.of("on_reconnect", value, "callable with a reason and seconds")
    end
  end
end
