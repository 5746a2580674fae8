# frozen_string_literal: true

require_relative "../../headers"
require_relative "../../scheduler/flow"
require_relative "../../redacted"
require_relative "cookies"
require_relative "errors"
require_relative "request_config"
require_relative "response_adapter"

module Trunkline
  module Facades
    module Typhoeus
      # Processes one request from its options to its response, with redirects and challenges. The caller (Runner or a
      # Hydra) sends #http_request and passes each result to #receive, which returns the next request to send, until
      # there is none.
      class Transfer
        include Redacted

        SIZE_LIMITS = %i[maxfilesize maxfilesize_large].freeze
        private_constant :SIZE_LIMITS

        # @return [Trunkline::Request, nil] the request to send; nil when the URL is invalid
        attr_reader :http_request
        # @return [Float, nil] monotonic seconds
        attr_reader :deadline
        # @return [Typhoeus::Request]
        attr_reader :request
        # @return [Scheduler::PendingRequest, nil] set by a Hydra
        attr_accessor :pending

        class << self
          # @param request [Typhoeus::Request]
          # @param connections [Integer] the maximum number of connections to a host
          # @return [Transfer]
          # @raise [Typhoeus::Errors::InvalidOption, ArgumentError] for a request that cannot be sent; an invalid URL
          #   raises nothing (see #invalid?)
          def of(request, connections = Connections::NO_LIMIT)
            (streamed?(request) ? StreamedTransfer : self).new(request, connections)
          end

          private

          # Whether a callback or the size limit needs the body while it arrives.
          def streamed?(request)
            limited?(request.options) || request.streaming? ||
              any?(request.on_headers_blocks) || any?(request.on_progress_blocks) ||
              any?(::Typhoeus.on_headers_blocks) || any?(::Typhoeus.on_progress_blocks)
          end

          # The size is checked while the body arrives, so that a body that is too large is reported with its status.
          def limited?(options)
            SIZE_LIMITS.any? { |name| options[name] || options[name.name] }
          end

          def any?(blocks)
            !blocks.nil? && !blocks.empty?
          end
        end

        def initialize(request, connections)
          @request = request
          @config = RequestConfig.of(request.options, connections)
          @http_request = @config.build(request, streamed?)
          @deadline = @config.deadline
          @caller_context = CallerContext.current if CallerContext.needed?
          @deadline = [@deadline, @caller_context&.limit].compact.min
          apply_policies
        rescue InvalidRequest => error
          raise unless @config && error.message.start_with?("url")

          @http_request = nil
          @invalid = error
        end

        # @return [CallPolicy, nil] applied to each exchange
        def policy = @config.policy || (@bare_policy ||= @config.policy_of([]) if @caller_context)

        # @return [CallerContext, nil] of the calling thread
        attr_reader :caller_context

        # @return [Boolean]
        def streamed? = false

        # @return [Boolean] whether the request has its response
        def finished? = @finished ? true : false

        # @return [Boolean] whether the URL is invalid
        def invalid? = !@invalid.nil?

        # Finishes a request that has an invalid URL.
        def finish_invalid
          finish(ResponseAdapter.new(self, nil, :url_malformat, @invalid))
        end

        # @param result [Response, Error]
        # @return [Trunkline::Request, nil] the next request to send
        def receive(result)
          if @flow || (@config.redirect && Policy::Redirect.redirect?(result))
            result = follow(result)
            return @http_request = result if result.is_a?(Trunkline::Request)
          end
          result.is_a?(Exception) ? finish_failed(result) : finish_with(result)
          nil
        end

        # ---- read by ResponseAdapter ----

        # @return [Hash]
        def options = @request.options

        # @return [String]
        def url = @request.shown_url

        # @return [Array<Response>] redirects and challenges that were followed
        def followed_responses = @followed_responses || []

        # @return [Integer] bytes
        def upload_size = @http_request&.content_length || 0

        # @return [Integer] bytes of the body
        def received = @response.nil? ? 0 : @response.body.bytesize

        private

        # Wraps each exchange in the handling of challenges, and inside that in the handling of cookies.
        def apply_policies
          auth = @config.auth(@request, @http_request)
          @cookies = Cookies.new(@config.cookies, @config.builder) if @config.cookies
          return unless auth || @cookies

          request = begin_flow(auth, @cookies)
          raise request if request.is_a?(Exception)

          @http_request = request
        end

        # @return [Trunkline::Request, StandardError] the first request to send
        def begin_flow(*policies)
          policy = @config.policy_of([@config.redirect, *policies].compact)
          @flow = Scheduler::Flow.new(policy, @http_request, Engine.now)
          @flow.first
        end

        def follow(result)
          begin_flow unless @flow # its first request is the one already sent
          next_request = @flow.after(result)
          @followed_responses = [*@followed_responses, result] if next_request.is_a?(Trunkline::Request)
          next_request
        end

        def finish_with(response)
          @response = response
          return finish(ResponseAdapter.new(self, response)) unless @config.fails_on_error? && response.status >= 400

          finish(ResponseAdapter.new(self, response, :http_returned_error, nil, String.new))
        end

        # Exceptions of the caller's body source are raised to the caller. An AnswerError carries the last response.
        def finish_failed(error)
          raise error unless error.is_a?(Error) || error.is_a?(InvalidRequest)

          @response = error.response if error.is_a?(AnswerError)
          finish(ResponseAdapter.new(self, @response, Errors.return_code(error), error))
        end

        def finish(adapter)
          @finished = true
          @http_request&.release
          keep_cookies if @cookies
          log(adapter) if @config&.verbose?
          @request.finish(::Typhoeus::Response.of(adapter))
        end

        # Cookies of a response with a truncated body are stored, too.
        def keep_cookies
          @cookies.store(@response) if @response
          @cookies.save
        end

        # Writes the lines that libcurl writes for verbose:, without credentials and bodies.
        def log(adapter)
          lines = []
          if @http_request
            lines << "> #{@http_request.method} #{URL.redact(@http_request.uri.target)} HTTP/1.1"
            lines.concat(Headers.redact(@http_request.headers).map { |pair| "> #{pair.join(": ")}" })
          end
          lines.concat(adapter.response_headers.split("\r\n").map { |line| "< #{redacted_line(line)}" })
          $stderr.puts(lines, "* #{adapter.return_code}#{": #{adapter.error.message}" if adapter.error}")
        end

        # A status line has no colon before its first space, so no field name is found in it.
        def redacted_line(line)
          name = line[/\A[^: ]+(?=:)/]
          name && Headers.hidden?(name) ? "#{name}: #{Redacted::HIDDEN}" : line
        end
      end
    end
  end
end
