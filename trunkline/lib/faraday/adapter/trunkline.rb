# frozen_string_literal: true

require "faraday"
require_relative "../../trunkline"
require_relative "../../trunkline/facades/faraday/errors"
require_relative "../../trunkline/facades/faraday/options"
require_relative "../../trunkline/facades/faraday/parallel"
require_relative "../../trunkline/facades/faraday/request_adapter"
require_relative "../../trunkline/facades/faraday/response_adapter"
require_relative "../../trunkline/lock"

module Faraday
  # Reopened: Faraday looks up adapters as constants of this class.
  class Adapter
    # Trunkline's adapter for Faraday 2: connections stay open and are shared by the whole process, no request is sent
    # twice, and in_parallel takes any number of requests.
    #
    #   faraday.adapter :trunkline
    #   faraday.adapter :trunkline, concurrency: 20, require_timeout: true, max_body_bytes: 10_000_000
    #   faraday.adapter(:trunkline) { |client| client.idle_timeout = 5 }
    #   faraday.adapter :trunkline, http: :auto
    #
    # The default is HTTP/1.1, because responses over HTTP/2 have no reason phrase; http: changes it.
    #
    # Faraday's timeout limits the whole request; open_timeout limits name resolution, connecting and TLS each;
    # write_timeout each wait until the server takes bytes; read_timeout each wait for the next byte of the response.
    # Without any of them the whole request has 60 seconds.
    #
    # The host of bind is used (an address or interface of this machine), its port is not: a fixed local port would
    # allow one connection only.
    #
    # Raises Faraday::TimeoutError, Faraday::SSLError and Faraday::ConnectionFailed; wrapped_exception is the
    # Trunkline::Error, with the phase and whether the server can have seen the request. A URL that cannot be requested
    # raises Faraday::ConnectionFailed, and a TLS file that cannot be read Faraday::SSLError; any other request that
    # cannot be sent raises Trunkline::InvalidRequest (an ArgumentError).
    class Trunkline < Faraday::Adapter
      include ::Trunkline::Redacted

      self.supports_parallel = true

      Facade = ::Trunkline::Facades::Faraday
      # How many clients are kept, one for each set of Faraday's options.
      KNOWN_CLIENTS = 32
      # Options of the adapter with which a call may be several exchanges.
      REPEATING = %i[follow digest auth policies retry breaker rate hedge coalesce cache cookies use].freeze
      private_constant :Facade, :KNOWN_CLIENTS, :REPEATING

      # @return [Parallel] the manager of in_parallel
      def self.setup_parallel_manager(_options = nil)
        Parallel.new
      end

      # @return [Integer, Symbol] the most requests that in_parallel has in flight to an origin; :auto adapts the number
      #   to the origin
      attr_reader :concurrency

      # @param options [Hash] concurrency: (:auto); require_timeout: (false, or what Trunkline.configure requires)
      #   whether a request without any timeout raises Trunkline::MissingTimeout instead of getting 60 seconds; and the
      #   options of Trunkline.new
      # @yield [client] a Trunkline::Defaults: one writer for each option of Trunkline.new
      def initialize(app = nil, options = {}, &block)
        super
        options = { **options.transform_keys(&:to_sym), **configured }
        @concurrency = options.delete(:concurrency) { :auto }
        @require_timeout = options.delete(:require_timeout) { ::Trunkline.timeouts_required? }
        @client_options = options
        @lock = ::Trunkline::Lock.new
        @clients = {}
      end

      def call(env)
        super
        if env.parallel?
          env.parallel_manager.add(self, env)
        elsif env.stream_response?
          stream(env)
        else
          complete(env, result(env))
        end
        @app.call(env)
      end

      # @return [::Trunkline::Client] for requests with the options of env
      def build_connection(env)
        key = Facade::Options.key(env.request, env.ssl)
        clients = @clients
        clients[key] || ::Trunkline::Memo.keep(clients, KNOWN_CLIENTS, key.map(&:dup), client.with(client_options(env)))
      end

      # Closes idle connections. The next request opens a new one.
      # @return [nil]
      def close
        client = @lock.synchronize do
          @clients = {}
          @client.tap { @client = nil }
        end
        client&.close
      end

      # Sends requests concurrently.
      # @api private
      # @yield [batch]
      def batch(&block)
        client.batch(concurrency: concurrency, &block)
      end

      # Adds a request to a batch.
      # @api private
      # @yield [result] of a request with on_data, the parts of the response: the Response, each chunk, nil at the end
      # @raise [Faraday::Error, ::Trunkline::InvalidRequest]
      def add(batch, env, &block)
        options = client_options(env).merge(Facade::RequestAdapter.call_options(env))
        request = [Facade::RequestAdapter.http_method(env), Facade::RequestAdapter.url(env), options]
        ::Trunkline::CallerContext.hooked(:faraday) do
          streams?(env) ? batch.stream(*request, &block) : batch.request(*request, &block)
        end
      rescue ::Trunkline::InvalidRequest => error
        raise Facade::Errors.convert(error)
      end

      # Whether the chunks of a request in a batch reach on_data as they arrive. With options that may repeat a request,
      # the response is known only when all exchanges are done, so its body is one chunk.
      # @api private
      def streams?(env)
        env.stream_response? && REPEATING.none? { |name| @client_options[name] }
      end

      # Saves a result in env and runs the response middleware.
      # @api private
      # @param result [::Trunkline::Response, Exception]
      # @raise [Faraday::Error, Exception]
      def complete(env, result)
        return complete_failed(env, result) if result.is_a?(Exception)

        body = Facade::ResponseAdapter.body(result)
        save_head(env, result, body)
        return env.response.finish(env) unless env.stream_response?

        env.stream_response { |&on_data| on_data.call(body) }
        finish_stream(env)
      end

      # Saves the head of a streamed response in env, before its chunks arrive.
      # @api private
      def begin_stream(env, response)
        save_head(env, response, nil)
      end

      # Runs the response middleware when the last chunk has arrived.
      # @api private
      def finish_stream(env)
        env.response_body = +""
        env.response.finish(env)
      end

      private

      # The base client; clients with further options share its connections.
      def client
        @client || @lock.synchronize do
          @client ||= ::Trunkline.new(nil, { timeout: Facade::Options::TOTAL, http: :h1, **@client_options })
        end
      end

      def client_options(env)
        Facade::Options.client_options(env.request, env.ssl, on_no_timeout: on_no_timeout)
      end

      # The adapter's own timeout: option suffices.
      def on_no_timeout
        return :leave if @client_options[:timeout]

        @require_timeout ? :raise : :limit
      end

      def configured
        defaults = ::Trunkline::Defaults.new
        @config_block&.call(defaults)
        defaults.to_h
      end

      # @return [::Trunkline::Response, ::Trunkline::Error]
      def result(env, stream: false)
        method = Facade::RequestAdapter.http_method(env)
        options = Facade::RequestAdapter.call_options(env)
        options[:stream] = true if stream
        return trace(env, options) if method == "TRACE" && options[:body]

        connection = build_connection(env) # looks for tools that trace, which makes calls say where they come from
        ::Trunkline::CallerContext.hooked(:faraday) do
          connection.request(method, Facade::RequestAdapter.url(env), options)
        end
      rescue ::Trunkline::Error => error
        error
      rescue ::Trunkline::InvalidRequest => error
        raise Facade::Errors.convert(error)
      end

      # The client refuses a TRACE with a body (RFC 9110 9.3.8); Faraday's other adapters send it.
      def trace(env, options)
        url = ::Trunkline::URL.parse(env.url)
        body = options[:body].to_s
        fields = ["Host", url.authority, "Content-Length", body.bytesize.to_s, *options[:headers].to_a.flatten]
        client = build_connection(env).with(options.except(:body, :headers, :stream))
        client.send_once(client.raw("TRACE", url, url.target, fields, body, body.bytesize, options.key?(:stream)))
      end

      def stream(env)
        response = result(env, stream: true)
        return complete_failed(env, response) if response.is_a?(Exception)

        begin_stream(env, response)
        env.stream_response { |&on_data| each_chunk(response, &on_data) }
        finish_stream(env)
      ensure
        response.close if response.is_a?(::Trunkline::Response)
      end

      def save_head(env, response, body)
        save_response(env, response.status, body, response._fields_by_name, response._given_reason, finished: false)
      end

      # Faraday treats a proxy's 407 (RFC 9110 15.5.8) as a response.
      def complete_failed(env, error)
        raise error unless error.is_a?(::Trunkline::Error)
        raise Facade::Errors.convert(error) unless error.is_a?(::Trunkline::ProxyError) && error.status == 407

        reason = "Proxy Authentication Required"
        save_response(env, error.status, +error.body, error.headers.to_h, reason, finished: false)
        env.response.finish(env)
      end

      # Errors of the caller's block are not converted; those of the connection are.
      def each_chunk(response)
        while (chunk = read(response))
          yield chunk
        end
      end

      def read(response)
        response.read
      rescue ::Trunkline::Error => error
        raise Facade::Errors.convert(error)
      end
    end

    register_middleware(trunkline: Trunkline)
  end
end
