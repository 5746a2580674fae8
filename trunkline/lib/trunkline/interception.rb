# frozen_string_literal: true

require_relative "body"
require_relative "engine"
require_relative "headers"
require_relative "interrupts"
require_relative "redacted"
require_relative "response"
require_relative "surroundings"

module Trunkline
  # Interceptors, for tests, see each call of every client, batch and facade before it is sent, and may answer it. The
  # library loads this file when the first one is added.
  #
  # An interceptor has intercept(request, body), where body is the whole content as a String, or nil. It returns
  #
  #   an Answer   the result of the call; nothing is sent
  #   callable    called with the Response of the call, which is sent
  #   nil         the call is sent
  #
  # What it raises is the result of the call. One that has hooks?(library) does not see calls that come from such a
  # library, because it sees them there already.
  module Interception
    # The result of a call that is not sent. Of an error, response is what a streaming call reads before it, or nil.
    Answer = Struct.new(:response, :error) do
      include Redacted

      # @param headers [Hash, Array] as a caller's headers: (see Headers.pairs)
      # @param body [String] as the caller gets it: it is not decoded
      # @param error [Exception, nil]
      # @return [Answer]
      # @raise [InvalidRequest] for invalid headers
      def self.of(request, status:, reason: "", headers: [], body: "", error: nil)
        new(Response.made(request, status, reason, Headers.pairs(headers), body), error)
      end

      # @return [Response]
      # @raise [Exception]
      def deliver(streaming)
        return response.extend(Replay).replay(error) if streaming && response
        raise error if error

        response
      end
    end

    @active = [].freeze

    class << self
      # @return [Array] interceptors of this fiber's calls, the first asked first
      def active
        library = Surroundings.library
        return @active if library.nil? || @active.empty?

        @active.reject { |interceptor| interceptor.respond_to?(:hooks?) && interceptor.hooks?(library) }
      end

      # Idempotent.
      # @return [nil]
      def add(interceptor)
        Engine.singleton_class.prepend(EnginePatch)
        Engine::Multi.prepend(MultiPatch)
        @active = [interceptor, *(@active - [interceptor])].freeze
        nil
      end

      # Idempotent.
      # @return [nil]
      def remove(interceptor)
        @active = (@active - [interceptor]).freeze
        nil
      end

      # @param request [Request]
      # @param body [String, nil]
      # @return [Answer, #call, nil] of the first interceptor that does not return nil
      def verdict(request, body)
        active.each do |interceptor|
          verdict = interceptor.intercept(request, body) or next
          tell_progress(request, body) if verdict.is_a?(Answer) && verdict.response
          return verdict
        end
        nil
      end

      # @param body [String, #next_chunk, nil]
      # @return [String, nil] the whole content
      def whole(body)
        return body if body.nil? || body.is_a?(String)

        text = +"".b
        while (chunk = body.next_chunk)
          text << chunk.b
        end
        text
      end

      # @param text [String, nil] the content, read from the request's own
      # @return [Request] that sends text
      def unread(request, text, streaming)
        read = !text.equal?(request.content)
        return request if !read && streaming == request.streaming?

        request._with(read ? Body::Text.new(text) : request.content, streaming)
      end

      private

      # Who answers in the place of a server takes the body in one piece.
      def tell_progress(request, body)
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

        text = Interception.whole(request.content)
        verdict = Interception.verdict(request, text)
        return verdict.deliver(request.streaming?) if verdict.is_a?(Answer)

        # The interceptor needs the whole body, so it is read before the caller gets the first piece.
        streaming = verdict.nil? && request.streaming?
        response = super(pool, Interception.unread(request, text, streaming), deadline, begun)
        return response unless verdict

        verdict.call(response)
        request.streaming? ? response.extend(Replay).replay : response
      end

      # Makes no connection: the call may be answered without one.
      def connect(pool, request)
        Interception.active.empty? ? super : Engine.response(request, "HTTP/1.1 200 \r\n\r\n", "")
      end
    end

    # Prepended to Engine::Multi. A streamed call that an interceptor answers has several results: the Response, each
    # piece, and nil or an error. Each #run returns one of them, so that the call can be cancelled in between.
    module MultiPatch
      include Redacted

      # Tag of a call whose Response an interceptor is called with; stream: the id of the call if it streams.
      Observed = Struct.new(:tag, :verdict, :stream) { include Redacted }

      def add(request, deadline, tag)
        return super if Interception.active.empty?

        text = Interception.whole(request.content)
        verdict = verdict(request, text)
        unless verdict.nil? || verdict.respond_to?(:call)
          return answer([tag, request.streaming? ? pieces(verdict) : [result(verdict)]])
        end
        return super(Interception.unread(request, text, request.streaming?), deadline, tag) unless verdict

        # The interceptor needs the whole body, so it is read before the caller gets the first piece.
        @observes = true
        observed = Observed.new(tag, verdict)
        id = super(Interception.unread(request, text, false), deadline, observed)
        observed.stream = id if request.streaming?
        id
      end

      def run(timeout, results)
        return super unless @answers || @observes

        timeout = 0 if @answers && !@answers.empty?
        @answers&.each_key { |id| results.concat(next_result(id)) }
        super(timeout, ended = [])
      ensure
        ended&.each_slice(3) { |tag, result, status| results.concat(observe(tag, result, status)) }
      end

      def size
        super + (@answers ? @answers.size : 0)
      end

      def cancel(id)
        @answers&.delete(id) ? true : super
      end

      def close
        answered = @answers ? @answers.values.map(&:first) : []
        @answers&.clear
        answered.concat(super.map { |tag| tag.is_a?(Observed) ? tag.tag : tag })
      end

      private

      # Ids of the engine are positive.
      def answer(results, id = @last_answer = (@last_answer || 0) - 1)
        (@answers ||= {})[id] = results
        wake # another fiber may be parked in run
        id
      end

      # @return [Array] as #run adds it
      def next_result(id)
        tag, results = @answers[id]
        result = results.shift
        return [tag, result, nil] unless results.empty?

        @answers.delete(id)
        [tag, result, (result.status if result.is_a?(Response))]
      end

      # What an interceptor raises is the result of its call.
      # @return [Answer, #call, nil, Exception]
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

      # @return [Array] as the engine gives them
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

        answer([tag.tag, pieces(Answer.new(result))], tag.stream)
        next_result(tag.stream)
      rescue StandardError => error
        Interrupts.ended_by?(error) ? raise : [tag.tag, error, nil]
      end
    end
  end
end
