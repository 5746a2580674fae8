# frozen_string_literal: true

require_relative "body"
require_relative "engine"
require_relative "headers"
require_relative "interrupts"
require_relative "lock"
require_relative "redacted"
require_relative "response"
require_relative "caller_context"

module Trunkline
  # Interceptors, for tests, are called with each request of every client, batch and facade before it is sent, and may
  # supply the response. Stubs and the adapter for WebMock load this file.
  #
  # An interceptor implements intercept(request, body), where body is the whole content as a String, or nil. It returns
  #
  #   an Answer   the result of the call; nothing is sent
  #   a callable  the request is sent, and the callable is called with the Response
  #   nil         the request is sent
  #
  # An exception that it raises is the result of the call. It may implement hooks?(library), which returns whether it
  # intercepts the calls of that library (:net_http or :faraday) itself; then it is not called for requests that the
  # library makes through Trunkline.
  module Interception
    # The result of a call that is not sent. With an error, response is what a streaming call reads before the error is
    # raised, or nil.
    Answer = Struct.new(:response, :error) do
      include Redacted

      # @param headers [Hash, Array] as the option headers: (see Headers.pairs)
      # @param body [String] as the caller gets it: it is not decoded
      # @param error [Exception, nil] what the call raises
      # @return [Answer]
      # @raise [InvalidRequest] for invalid headers
      def self.of(request, status:, reason: "", headers: [], body: "", error: nil)
        new(Response.from_parts(request, status, reason, Headers.pairs(headers), body), error)
      end

      # @return [Response]
      # @raise [Exception] the error; a streaming call with a response raises it after the body
      def deliver(streaming)
        return response.extend(Replay).replay(error) if streaming && response
        raise error if error

        response
      end
    end

    @active = [].freeze
    @lock = Lock.new

    class << self
      # @return [Array] the interceptors for calls of the current fiber, in the order in which they are called
      def active
        library = CallerContext.library
        return @active if library.nil? || @active.empty?

        @active.reject { |interceptor| interceptor.respond_to?(:hooks?) && interceptor.hooks?(library) }
      end

      # Adds an interceptor that is called before all others. If it was added already, it is moved to the front.
      # @return [nil]
      def add(interceptor)
        Engine.singleton_class.prepend(EnginePatch)
        Engine::Multi.prepend(MultiPatch)
        @lock.synchronize { @active = [interceptor, *(@active - [interceptor])].freeze }
        nil
      end

      # Removes an interceptor, if it is there.
      # @return [nil]
      def remove(interceptor)
        @lock.synchronize { @active = (@active - [interceptor]).freeze }
        nil
      end

      # @param request [Request]
      # @param body [String, nil]
      # @return [Answer, #call, nil] the result of the first interceptor that does not return nil; nil if all do
      def verdict(request, body)
        active.each do |interceptor|
          verdict = interceptor.intercept(request, body) or next
          report_progress(request, body) if verdict.is_a?(Answer) && verdict.response
          return verdict
        end
        nil
      end

      # @param body [String, #next_chunk, nil]
      # @return [String, nil] the whole content
      def read_content(body)
        return body if body.nil? || body.is_a?(String)

        text = +"".b
        while (chunk = body.next_chunk)
          text << chunk.b
        end
        text
      end

      # @param text [String, nil] the content of the request, which has been read
      # @param streaming [Boolean] whether the response is streamed
      # @return [Request] a request with text as its content
      def restore_content(request, text, streaming)
        read = !text.equal?(request.content)
        return request if !read && streaming == request.streaming?

        request._with(read ? Body::StringBody.new(text) : request.content, streaming)
      end

      private

      # The interceptor gets the body in one piece, so progress is reported only at its beginning and its end.
      def report_progress(request, body)
        progress = request.progress or return
        total = request.content_length unless request.content_length.negative?
        progress.call(0, total, false)
        progress.call(body.bytesize, total, true)
      end
    end

    # Prepended to Engine's singleton class.
    module EnginePatch
      def perform(pool, request, deadline, begun)
        return super if Interception.active.empty?

        text = Interception.read_content(request.content)
        verdict = Interception.verdict(request, text)
        return verdict.deliver(request.streaming?) if verdict.is_a?(Answer)

        # The interceptor needs the whole body, so it is read before the caller gets the first piece.
        streaming = verdict.nil? && request.streaming?
        response = super(pool, Interception.restore_content(request, text, streaming), deadline, begun)
        return response unless verdict

        verdict.call(response)
        request.streaming? ? response.extend(Replay).replay : response
      end

      # Opens no connection while there are interceptors, because they may supply the response without one.
      def connect(pool, request)
        Interception.active.empty? ? super : Engine.response(request, "HTTP/1.1 200 \r\n\r\n", "")
      end
    end

    # Prepended to Engine::Multi. A streamed call whose response comes from an interceptor has several results: the
    # Response, each piece of the body, and nil or an error. Each #run returns one of them, so that the call can be
    # cancelled in between.
    module MultiPatch
      include Redacted

      # Replaces the tag of a call whose Response is passed to an interceptor's callable (verdict). stream: the id of
      # the call if its response is streamed.
      Observed = Struct.new(:tag, :verdict, :stream) { include Redacted }

      def add(request, deadline, tag)
        return super if Interception.active.empty?

        text = Interception.read_content(request.content)
        verdict = verdict(request, text)
        unless verdict.nil? || verdict.respond_to?(:call)
          return queue_results([tag, request.streaming? ? pieces(verdict) : [result(verdict)]])
        end
        return super(Interception.restore_content(request, text, request.streaming?), deadline, tag) unless verdict

        # The interceptor needs the whole body, so it is read before the caller gets the first piece.
        @observing = true
        observed = Observed.new(tag, verdict)
        id = super(Interception.restore_content(request, text, false), deadline, observed)
        observed.stream = id if request.streaming?
        id
      end

      def run(timeout, results)
        return super unless @queued_results || @observing

        timeout = 0 if @queued_results && !@queued_results.empty?
        @queued_results&.each_key { |id| results.concat(next_result(id)) }
        super(timeout, ended = [])
      ensure
        ended&.each_slice(3) { |tag, result, status| results.concat(observe(tag, result, status)) }
      end

      def size
        super + (@queued_results ? @queued_results.size : 0)
      end

      def cancel(id)
        @queued_results&.delete(id) ? true : super
      end

      def close
        tags = @queued_results ? @queued_results.values.map(&:first) : []
        @queued_results&.clear
        tags.concat(super.map { |tag| tag.is_a?(Observed) ? tag.tag : tag })
      end

      private

      # The ids of these calls are negative, because those of the engine are positive.
      def queue_results(results, id = @last_queued_id = (@last_queued_id || 0) - 1)
        (@queued_results ||= {})[id] = results
        wake # another fiber may be waiting in run
        id
      end

      # @return [Array] tag, result and status, as #run adds them to results
      def next_result(id)
        tag, results = @queued_results[id]
        result = results.shift
        return [tag, result, nil] unless results.empty?

        @queued_results.delete(id)
        [tag, result, (result.status if result.is_a?(Response))]
      end

      # An exception that an interceptor raises is the result of the call.
      # @return [Answer, #call, nil, Exception] what the interceptor returned or raised
      def verdict(request, text)
        Interception.verdict(request, text)
      rescue SignalException, SystemExit
        raise
      rescue Exception => error # rubocop:disable Lint/RescueException
        Interrupts.ended_by?(error) ? raise : error
      end

      # @param verdict [Answer, Exception]
      # @return [Response, Exception]
      def result(verdict)
        return verdict if verdict.is_a?(Exception)

        verdict.error || verdict.response
      end

      # @return [Array] the results of a streamed call, as the engine returns them: the Response, the pieces of its
      #   body, and nil or an error
      def pieces(verdict)
        return [result(verdict)] unless verdict.is_a?(Answer) && verdict.response

        body = verdict.response.body.b
        starts = (0...body.bytesize).step(Replay::PIECE_BYTES)
        [verdict.response, *starts.map { |start| body.byteslice(start, Replay::PIECE_BYTES) }, verdict.error]
      end

      def observe(tag, result, status)
        return [tag, result, status] unless tag.is_a?(Observed)

        tag.verdict.call(result) if status
        return [tag.tag, result, status] unless tag.stream && status

        queue_results([tag.tag, pieces(Answer.new(result))], tag.stream)
        next_result(tag.stream)
      rescue StandardError => error
        Interrupts.ended_by?(error) ? raise : [tag.tag, error, nil]
      end
    end
  end
end
