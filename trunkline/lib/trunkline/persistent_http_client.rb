# frozen_string_literal: true

require_relative "net_http"

module Trunkline
  # Reads like Net::HTTP, and its connections stay open:
  #
  #   http = Trunkline::PersistentHttpClient.get(URI("https://api.test"), read_timeout: 5)
  #   http.request(Net::HTTP::Get.new("/users")).body
  #
  # What it gives is a Net::HTTP with all of its methods, which may be used from many threads at once. It holds no
  # connection itself: each request takes one of the process's, so there is nothing to close and nothing to give back.
  # Set options where you get it, not afterwards: the same object is given to whoever asks for the same.
  class PersistentHttpClient < NetHTTP.plain
    include NetHTTP::Carried
    include Redacted

    # Unless others are given; in seconds.
    DEFAULTS = { open_timeout: 30, read_timeout: 80, keep_alive_timeout: 30 }.freeze
    KNOWN = 256
    private_constant :KNOWN

    @known = {}
    @lock = Mutex.new

    class << self
      # @param uri [URI::HTTP, String] the server; its path counts for nothing
      # @param options [Hash] what Net::HTTP has a writer for, as keywords: open_timeout (30 s), read_timeout (80 s),
      #   write_timeout, keep_alive_timeout (30 s), verify_mode, cert, key, ca_file and so on; and proxy, a URL, or nil
      #   for none (unless given, the environment's)
      # @return [PersistentHttpClient] started
      # @raise [ArgumentError] for a URI that is not http or https, and for an option that Net::HTTP does not have
      # @raise [StandardError] what Net::HTTP#start raises when there is no connection
      def get(uri, **options)
        RactorError.refuse
        uri = parsed("uri", uri)
        unless uri.is_a?(URI::HTTP) && !uri.hostname.to_s.empty?
          raise ArgumentError, "uri: must be an http or https URI with a host, got #{URL.redact(uri.to_s)}"
        end

        key = [uri.scheme, uri.hostname, uri.port, options]
        http = known(key) { make(uri, options) }
        reason = NetHTTP::Settings.obstacle(http)
        # Net::HTTP itself must then do it, with a socket, which no two threads may share.
        http = known([*key, Thread.current.object_id]) { make(uri, options) } if reason
        started(http)
      end

      # Forgets what it has given, and closes idle connections. What was given goes on working.
      # @return [nil]
      def clear
        @lock.synchronize { @known.clear }
        NetHTTP::Settings.close_idle
      end

      private

      # What URI says of a bad one quotes it, with its password.
      def parsed(argument, given)
        URI(given)
      rescue URI::Error
        raise ArgumentError, "#{argument}: must be a URL, got #{URL.redact(given.to_s.scrub).inspect}", cause: nil
      end

      def known(key)
        @lock.synchronize { @known[key] || Memo.keep(@known, KNOWN, key, yield) }
      end

      # Others may start it at the same time; to connect can take long, so nobody is made to wait for a lock.
      def started(http)
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

      def proxy(given)
        return [nil] unless given

        uri = parsed("proxy", given)
        [uri.hostname, uri.port, *[uri.user, uri.password].map { |text| text && Percent.decode(text) }]
      end
    end

    # @return [String]
    def inspect
      "#<#{self.class} #{address}:#{port}>"
    end

    private

    def trunkline_carries?
      true
    end

    # What threads share must not turn into one socket.
    def trunkline_step_aside(reason)
      raise InvalidRequest, "PersistentHttpClient cannot do this: #{reason}; use a Net::HTTP of your own"
    end
  end
end
