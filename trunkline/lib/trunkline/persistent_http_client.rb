# frozen_string_literal: true

require_relative "lock"
require_relative "net_http"
require_relative "percent"

module Trunkline
  # A Net::HTTP whose connections stay open:
  #
  #   http = Trunkline::PersistentHttpClient.get(URI("https://api.test"), read_timeout: 5)
  #   http.request(Net::HTTP::Get.new("/users")).body
  #
  # The client has all methods of Net::HTTP, and many threads may use it at once. It holds no connection: each request
  # takes one from the process's pool and returns it, so there is nothing to close. Pass options to .get instead of
  # setting them later: .get returns the same object for the same options.
  class PersistentHttpClient < NetHTTP.plain
    include Facades::NetHTTP::Patch
    include Redacted

    # Default timeouts in seconds.
    DEFAULTS = { open_timeout: 30, read_timeout: 80, keep_alive_timeout: 30 }.freeze
    CACHE_LIMIT = 256
    private_constant :CACHE_LIMIT

    @known = {}
    @lock = Lock.new

    class << self
      # Returns the client for a server and options; makes it on the first call.
      #
      # @param uri [URI::HTTP, String] the server; its path is ignored
      # @param options [Hash] named like the writers of Net::HTTP: open_timeout (30 s), read_timeout (80 s),
      #   write_timeout, keep_alive_timeout (30 s), verify_mode, cert, key, ca_file and so on; and proxy, a URL, or nil
      #   for none (default: the proxy of the environment)
      # @return [PersistentHttpClient] a started client
      # @raise [ArgumentError] for a URI that is not http or https, and for an option that Net::HTTP does not have
      # @raise [RactorError] in any Ractor but the main one
      # @raise [StandardError] the errors of Net::HTTP#start, when it cannot connect
      def get(uri, **options)
        RactorError.refuse
        uri = parse_uri("uri", uri)
        unless uri.is_a?(URI::HTTP) && !uri.hostname.to_s.empty?
          raise ArgumentError, "uri: must be an http or https URI with a host, got #{URL.redact(uri.to_s)}"
        end

        key = [uri.scheme, uri.hostname, uri.port, options]
        http = cached(key) { make(uri, options) }
        # With a setting that Trunkline does not support, the client uses a socket of Net::HTTP, so each thread needs a
        # client of its own.
        if Facades::NetHTTP::Options.obstacle(http)
          http = cached([*key, Thread.current.object_id]) { make(uri, options) }
        end
        ensure_started(http)
      end

      # Makes .get return new clients, and closes idle connections. The clients returned before remain usable.
      # @return [nil]
      def clear
        @lock.synchronize { @known.clear }
        Facades::NetHTTP::Clients.close_idle
      end

      private

      # A URI::Error is replaced, because its message quotes the URL with its password.
      def parse_uri(argument, url)
        URI(url)
      rescue URI::Error
        raise ArgumentError, "#{argument}: must be a URL, got #{URL.redact(url.to_s.scrub).inspect}", cause: nil
      end

      def cached(key)
        @lock.synchronize { @known[key] || Memo.keep(@known, CACHE_LIMIT, key, yield) }
      end

      # No lock is held, because connecting can take long. If another thread starts the client meanwhile, start raises
      # IOError.
      def ensure_started(http)
        http.started? ? http : http.start
      rescue IOError
        http.started? ? http : raise
      end

      def make(uri, options)
        proxy = options.key?(:proxy) ? proxy(options[:proxy]) : [:ENV]
        http = new(uri.hostname, uri.port, *proxy)
        http.use_ssl = uri.is_a?(URI::HTTPS)
        DEFAULTS.merge(options.except(:proxy)).each do |name, value|
          raise ArgumentError, "#{name}: is no option of Net::HTTP" unless http.respond_to?(:"#{name}=")

          http.public_send(:"#{name}=", value)
        end
        http
      end

      def proxy(url)
        return [nil] unless url

        uri = parse_uri("proxy", url)
        [uri.hostname, uri.port, *[uri.user, uri.password].map { |text| text && Percent.decode(text) }]
      end
    end

    # @return [String]
    def inspect
      "#<#{self.class} #{address}:#{port}>"
    end

    private

    def trunkline_enabled? = true

    def trunkline_hooked? = false

    # Threads share this object, so it must not fall back to a socket of Net::HTTP.
    def trunkline_fall_back(reason)
      raise InvalidRequest, "PersistentHttpClient cannot do this: #{reason}; use a Net::HTTP of your own"
    end
  end
end
