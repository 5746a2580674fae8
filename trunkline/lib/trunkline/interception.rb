# frozen_string_literal: true

require_relative "body"
require_relative "engine"
require_relative "headers"
require_relative "interrupts"
require_relative "redacted"

module Trunkline
  # Puts something in the place of the network, for tests: it is asked before each call of every client, batch and
  # facade, and may answer it. Until the first one is added this file is not even loaded, and calls go from the client
  # straight to the engine.
  #
  # An interceptor answers to intercept(request, body), body being the whole of it as a String, or nil, and returns
  #
  #   an Answer   which is what the caller gets; nothing is sent
  #   callable    the call goes on, and it is called with the Response, if one comes
  #   nil         the call goes on
  #
  # and may raise: then that is what the caller gets.
  module Interception
    # What a caller gets in place of an exchange. With an error, the response is what came before it (or nil): a call
    # that streams is given that much of the body first.
    Answer = Struct.new(:response, :error) do
      include Redacted

      # @param request [Request]
      # @param status [Integer]
      # @param reason [String]
      # @param headers [Hash, Array] as a caller's headers: (see Headers.pairs)
      # @param body [String] as the caller is to get it: no coding is undone
      # @param error [Exception, nil]
      # @return [Answer]
      # @raise [InvalidRequest] when the headers are none
      def self.of(request, status:, reason: "", headers: [], body: "", error: nil)
        fields = Headers.pairs(headers).filter_map { |name, value| "#{name}: #{value}\r\n".b if value }
        head = "HTTP/1.1 #{format("%03d", status)} #{reason}\r\n".b + fields.join + "\r\n"
        new(Engine.response(request, head, body), error)
      end

      # @return [Response]
      # @raise [Exception]
      def deliver(streaming)
        return response.extend(Replay).replay(error) if streaming && response
        raise error if error

        response
      end
    end

    # A Response that has its body already gives it piece by piece, as one that streams does.
    module Replay
      PIECE_BYTES = 16 * 1024

      # @param error [Exception, nil] raised after the last piece
      def replay(error = nil)
        text = body
        @whole = (+"").force_encoding(text.encoding)
        @error = error
        @rest = text.b
        self
      end

      def body
        return super unless @rest

        while (piece = _read)
          @whole << piece.force_encoding(@whole.encoding)
        end
        @whole
      end

      def close
        return if @rest.empty?

        @error ||= Cancelled.new("#{Sentence.call(request)} was given up before its answer was complete",
                                 request: request, phase: :read, sent: :all)
        @rest = +""
      end

      private

      def _read(buffer = nil)
        unless @rest.empty?
          piece = @rest.slice!(0, PIECE_BYTES)
          return buffer ? buffer.replace(piece) : piece
        end
        raise @error if @error
      end
    end

    @active = [].freeze

    class << self
      # @return [Array] interceptors, the one asked first in front
      attr_reader :active

      # Idempotent.
      # @return [nil]
      def add(interceptor)
        Engine.singleton_class.prepend(Single)
        Engine::Multi.prepend(Many)
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
      # @return [Answer, #call, nil] from the first that has one
      def verdict(request, body)
        @active.each do |interceptor|
          verdict = interceptor.intercept(request, body)
          return verdict if verdict
        end
        nil
      end

      # @param body [String, #next_chunk, nil]
      # @return [String, nil] all of it
      def whole(body)
        return body if body.nil? || body.is_a?(String)

        text = +"".b
        while (chunk = body.next_chunk)
          text << chunk.b
        end
        text
      end

      # @param text [String, nil] all of the request's content, which has been read, and is to be sent all the same
      # @return [Request]
      def unread(request, text, streaming)
        read = request.content.is_a?(Content)
        return request if !read && streaming == request.streaming?

        request._with(read ? Body::Text.new(text) : request.content, streaming)
      end
    end

    # Before Engine.perform and Engine.connect.
    module Single
      def perform(pool, request, deadline, begun)
        return super if Interception.active.empty?

        text = Interception.whole(request.content)
        verdict = Interception.verdict(request, text)
        return verdict.deliver(request.streaming?) if verdict.is_a?(Answer)

        # Who is told of the answer needs all of it: it is read before the caller gets the first piece.
        streaming = verdict.nil? && request.streaming?
        response = super(pool, Interception.unread(request, text, streaming), deadline, begun)
        return response unless verdict

        verdict.call(response)
        request.streaming? ? response.extend(Replay).replay : response
      end

      # Nothing is connected ahead: it is not known yet whether the call will go out.
      def connect(pool, request)
        Interception.active.empty? ? super : Engine.response(request, "HTTP/1.1 200 \r\n\r\n", "")
      end
    end

    # Before Engine::Multi's own. Of an answer that came over no connection, run gives one result at a time: of a
    # streamed one the Response, each piece, and nil or an error, so that whoever gets them may end it between two.
    module Many
      include Redacted

      # The tag of a call that somebody is to be told of, and, if it is streamed, the engine's number of it.
      Told = Struct.new(:tag, :verdict, :stream) { include Redacted }

      def add(request, deadline, tag)
        return super if Interception.active.empty?

        text = Interception.whole(request.content)
        verdict = verdict(request, text)
        unless verdict.nil? || verdict.respond_to?(:call)
          return answer([tag, request.streaming? ? pieces(verdict) : [result(verdict)]])
        end
        return super(Interception.unread(request, text, request.streaming?), deadline, tag) unless verdict

        # Who is told of the answer needs all of it: then it is read before the first piece is given.
        @told = true
        told = Told.new(tag, verdict)
        id = super(Interception.unread(request, text, false), deadline, told)
        told.stream = id if request.streaming?
        id
      end

      def run(timeout)
        return super unless @answers || @told

        results = @answers ? @answers.keys.flat_map { |id| next_result(id) } : []
        results.concat(super(results.empty? ? timeout : 0).each_slice(2).flat_map { |tag, result| tell(tag, result) })
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
        answered.concat(super.map { |tag| tag.is_a?(Told) ? tag.tag : tag })
      end

      private

      # Ids of the engine's own are above 0.
      def answer(results, id = @last_answer = (@last_answer || 0) - 1)
        (@answers ||= {})[id] = results
        wake # another fiber may be parked in run
        id
      end

      def next_result(id)
        tag, results = @answers[id]
        result = results.shift
        @answers.delete(id) if results.empty?
        [tag, result]
      end

      # What an interceptor raises is the result of its call. An Exception that no rescue is to hide is raised by
      # whoever takes the result.
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

      def tell(tag, result)
        return [tag, result] unless tag.is_a?(Told)

        tag.verdict.call(result) if result.is_a?(Response)
        return [tag.tag, result] unless tag.stream && result.is_a?(Response)

        answer([tag.tag, pieces(Answer.new(result))], tag.stream)
        next_result(tag.stream)
      rescue StandardError => error
        Interrupts.ended_by?(error) ? raise : [tag.tag, error]
      end
    end
  end
end
