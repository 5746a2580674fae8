# frozen_string_literal: true

require "faraday"
require_relative "../../trunkline"
require_relative "../../trunkline/faraday/translation"
require_relative "../../trunkline/faraday/parallel"

module Faraday
  # Reopened: Faraday finds its adapters by their names in here.
  class Adapter
    # Faraday 2 on Trunkline: connections are kept and shared by the whole process, nothing is sent twice, and
    # in_parallel takes any number of requests.
    #
    #   faraday.adapter :trunkline
    #   faraday.adapter :trunkline, concurrency: 20, require_timeout: true, max_body_bytes: 10_000_000
    #   faraday.adapter(:trunkline) { |client| client.idle_timeout = 5 }
    #   faraday.adapter :trunkline, http: :auto
    #
    # It speaks HTTP/1.1 unless http: says otherwise: with HTTP/2 an answer has no reason phrase.
    #
    # Of Faraday's timeouts, timeout is the total; open_timeout, write_timeout and read_timeout limit each wait for a
    # connection (name, socket and TLS each), for the server to take bytes, and for the next byte of the answer.
    # Without any of them the total is 60 seconds.
    #
    # Of bind, the host is used (an address or interface of this machine): with a port that is always the same there
    # could be one connection only.
    #
    # Raises Faraday::TimeoutError, Faraday::SSLError and Faraday::ConnectionFailed; wrapped_exception is the
    # Trunkline::Error, which tells the phase and whether the server can have seen the request. What cannot be sent or
    # carried raises Trunkline::InvalidRequest (an ArgumentError).
    class Trunkline < Faraday::Adapter
      include ::Trunkline::Redacted

      self.supports_parallel = true

      # Sets of options that a client is kept for.
      KNOWN_CLIENTS = 32
      private_constant :KNOWN_CLIENTS

      # @return [Parallel] what in_parallel collects requests with
      def self.setup_parallel_manager(_options = nil)
        Parallel.new
      end

      # @return [Integer, Symbol] how many of its requests in_parallel has in flight to an origin at most; :auto finds
      #   out how many serve best
      attr_reader :concurrency

      # @param options [Hash] concurrency: (:auto); require_timeout: whether a request without any timeout raises
      #   Trunkline::MissingTimeout instead of having 60 seconds (false); all others as Trunkline.new takes them
      # @yield [client] a Trunkline::Defaults: one writer for each option of Trunkline.new
      def initialize(app = nil, options = {}, &block)
        super
        options = { **options.transform_keys(&:to_sym), **configured }
        @concurrency = options.delete(:concurrency) { :auto }
        @require_timeout = options.delete(:require_timeout) { false }
        @client_options = options
        @lock = Mutex.new
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
        key = Translation.settings(env[:request], env[:ssl])
        clients = @clients
        clients[key] || ::Trunkline::Memo.keep(clients, KNOWN_CLIENTS, key, client.with(lasting(env)))
      end

      # Closes idle connections. The next request makes others.
      # @return [nil]
      def close
        client = @lock.synchronize do
          @clients = {}
          @client.tap { @client = nil }
        end
        client&.close
      end

      # Sends requests side by side.
      # @api private
      # @yield [batch]
      def batch(&block)
        client.batch(concurrency: concurrency, &block)
      end

      # Adds a request to a batch.
      # @api private
      # @yield [result]
      def add(batch, env, &block)
        batch.request(*target(env), lasting(env).merge(Translation.message(env)), &block)
      end

      # Puts what a request came to into env, and has the middleware look at it.
      # @api private
      # @param result [::Trunkline::Response, Exception]
      def complete(env, result)
        return refuse(env, result) if result.is_a?(Exception)

        body = Translation.body(result)
        if env.stream_response? # in_parallel has it as a whole
          env.stream_response { |&on_data| on_data.call(body) }
          body = +""
        end
        save_response(env, result.status, body, result.headers.to_h, result.reason, finished: false)
        env.response.finish(env)
      end

      private

      # The one whose connections all requests of this adapter share.
      def client
        @client || @lock.synchronize do
          @client ||= ::Trunkline.new(nil, { timeout: Translation::TOTAL, http: :h1, **@client_options })
        end
      end

      def lasting(env)
        Translation.lasting(env[:request], env[:ssl], on_no_timeout: on_no_timeout)
      end

      # @return [Array(String, String)] method and URL
      def target(env)
        [env[:method].to_s.upcase, env[:url].to_s]
      end

      # A timeout of the client itself will do.
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
      def result(env, **more)
        method, url = target(env)
        options = Translation.message(env)
        return trace(connection(env), url, options) if method == "TRACE" && options[:body]

        connection(env).request(method, url, options.merge!(more))
      rescue ::Trunkline::Error => error
        error
      end

      # A TRACE must have no body (RFC 9110 9.3.8), and the client refuses one. Faraday's adapters carry it.
      def trace(client, url, options)
        url = ::Trunkline::URL.parse(url)
        content = ::Trunkline::Content.of(body: options[:body].to_s)
        fields = ["Host", url.authority, "Content-Length", content.length.to_s, *options[:headers].flatten]
        client = client.with(options.except(:body, :headers))
        client.carry(client.verbatim("TRACE", url, url.target, fields, content, content.length), false)
      end

      def stream(env)
        response = result(env, stream: true)
        return refuse(env, response) if response.is_a?(Exception)

        save_response(env, response.status, nil, response.headers.to_h, response.reason, finished: false)
        env.stream_response { |&on_data| pieces(response, &on_data) }
        env.response_body = +""
        env.response.finish(env)
      ensure
        response.close if response.is_a?(::Trunkline::Response)
      end

      # To Faraday, a proxy's wish for credentials is an answer (RFC 9110 15.5.8).
      def refuse(env, error)
        raise error unless error.is_a?(::Trunkline::Error)
        raise Translation.error(error) unless error.is_a?(::Trunkline::ProxyError) && error.status == 407

        reason = "Proxy Authentication Required"
        save_response(env, error.status, +error.body, error.headers.to_h, reason, finished: false)
        env.response.finish(env)
      end

      # What the reader raises is none of the connection's failures.
      def pieces(response)
        while (piece = read(response))
          yield piece
        end
      end

      def read(response)
        response.read
      rescue ::Trunkline::Error => error
        raise Translation.error(error)
      end
    end

    register_middleware(trunkline: Trunkline)
  end
end
