# frozen_string_literal: true

require_relative "trunkline/version"
require_relative "trunkline/engine"
require_relative "trunkline/client"
require_relative "trunkline/defaults"

# HTTP over connections that stay open, each call with a deadline that holds, nothing sent twice unless asked.
#
#   client = Trunkline.new("https://api.test", timeout: 5)
#   client.get("/users", params: { page: 2 }).json
#
#   Trunkline.get("https://api.test/users", timeout: 5).status
module Trunkline
  # What stands in for Net::HTTP changes a process's Net::HTTP: it is there for those alone who name it.
  autoload :NetHTTP, "#{__dir__}/trunkline/net_http"
  autoload :PersistentHttpClient, "#{__dir__}/trunkline/persistent_http_client"

  @lock = Mutex.new

  class << self
    # Makes a client.
    #
    # @param base_url [String, URI, nil] what its paths are below; without it, every call gives a whole URL. Credentials
    #   in it (https://user:password@api.test) become basic:
    # @param options [Hash] as keywords; all but max_idle may be given to Client#with and to a single call as well
    # @option options [Numeric, Hash] :timeout required, here or by Trunkline.configure; seconds for the whole call, or
    #   for its phases: resolve, connect, tls, write, first_byte, read, queue, total (see Timeouts); without total, a
    #   phase that is not named has 30
    # @option options [Hash] :headers for every call; nil as a value removes a default
    # @option options [Hash] :params for every call's query (see Query)
    # @option options [String] :bearer a token for Authorization: Bearer
    # @option options [Array(String, String)] :basic user and password for Authorization: Basic
    # @option options [Array(String, String)] :digest user and password for Digest (RFC 7616)
    # @option options [#sign, #retry?] :auth an object that signs requests and sees challenges (see Policy::Auth)
    # @option options [Boolean, String] :netrc true for ~/.netrc, or a path: basic credentials by host
    # @option options [Integer, false] :follow how many redirects to follow; false
    # @option options [Boolean] :redirect_body_to_http whether a redirect from https to http that keeps the method (307,
    #   308) may send the body on, unencrypted; false: such a redirect is refused
    # @option options [Array<String>] :credential_headers fields to be bound to their origin like Authorization, Cookie,
    #   Proxy-Authorization and X-Api-Key: a redirect to another origin does not carry them on, and with a base URL,
    #   those of the client go to its origin alone
    # @option options [Symbol] :replay :safe to send GET, HEAD, OPTIONS and TRACE once more when a reused connection
    #   died without a byte of an answer; :never
    # @option options [Numeric, false] :expect seconds to wait for 100 Continue before a body is sent; false
    # @option options [Boolean] :decode undo gzip, deflate, br and zstd; true
    # @option options [#call] :early_hints called with the Headers of each 103
    # @option options [Boolean] :verify check the server's certificate; true
    # @option options [Boolean] :verify_hostname whether the certificate must be for the server's name; true
    # @option options [String] :ca_file PEM file of trusted certificates, instead of the system's. New connections read
    #   it again when it has changed, and so the other files of certificates and keys; while what they find cannot be
    #   used, what was read before is
    # @option options [String] :ca_path directory of trusted certificates, hashed as OpenSSL wants it
    # @option options [OpenSSL::X509::Store] :ca_store instead of ca_file: and ca_path:; it is used as it is, and must
    #   not change any more
    # @option options [String] :client_cert PEM file of the client's certificate
    # @option options [String] :client_key PEM file of its key; client_cert's file
    # @option options [Integer] :verify_depth how many intermediate certificates may stand between the server's own and
    #   a trusted root; OpenSSL's limit, 100
    # @option options [String] :tls_name the name to send as SNI and to verify, instead of the URL's host; for every
    #   server the client calls
    # @option options [Symbol] :http :auto for HTTP/2 where an https server chooses it; :h1 for HTTP/1.1 alone; :h2 for
    #   HTTP/2 alone, with http too (prior knowledge, RFC 9113 3.3)
    # @option options [String] :min_tls "1.2" or "1.3"; "1.2"
    # @option options [String] :max_tls "1.2" or "1.3"; the newest there is
    # @option options [String] :ciphers for TLS 1.2, in OpenSSL's format, such as "ECDHE+AESGCM"; OpenSSL's default
    # @option options [String] :ciphersuites for TLS 1.3, names joined by ":" (RFC 8446 B.4); OpenSSL's default
    # @option options [String] :keylog file that TLS secrets are appended to; the environment's SSLKEYLOGFILE
    # @option options [String, Hash] :connect_to "host:port" to connect to instead, or a Hash of those by "host:port"
    # @option options [String] :unix path of a Unix socket to connect to instead
    # @option options [String, false] :proxy http://, https://, socks5:// or socks5h://, perhaps with user:password@;
    #   false for none; the environment's http_proxy, https_proxy, all_proxy and no_proxy
    # @option options [String, Array<String>] :no_proxy hosts that no proxy is for (see NoProxy); the environment's
    #   no_proxy, for the environment's proxies
    # @option options [String] :bind an address or an interface of this machine, to connect from
    # @option options [Boolean, Integer, Hash] :tcp_keepalive seconds of silence before a probe, or both as
    #   { idle: 30, interval: 10 }, the default
    # @option options [Numeric] :tcp_user_timeout seconds that sent bytes may lie unacknowledged; the system's limit
    # @option options [Integer] :max_connections_per_host 64; further calls wait their turn
    # @option options [Integer] :max_idle gives the client connections of its own, and how many of them may be idle; all
    #   others share the process's, 256
    # @option options [Numeric] :idle_timeout seconds that an idle connection is kept; 30
    # @option options [Numeric, nil] :max_age seconds for which a connection takes calls, and for which an address that
    #   was looked up is dialled, so that a service that has moved is followed; 300, nil for no limit
    # @option options [Numeric, false] :busy_poll seconds, at most 0.001, for which a call that is alone polls for its
    #   answer without sleeping when the connection's last answer came as soon: half as fast again to a server next
    #   door, for up to a third more CPU; 0.00006, false for never
    # @option options [Integer, nil] :max_body_bytes largest body, decoded, also of one that is streamed; nil for no
    #   limit; 268,435,456 (256 MiB) for bodies that are kept whole, none for those that are streamed
    # @option options [Integer, nil] :max_decode_ratio how many times its size a body may unpack to, once it has passed
    #   16 MiB; nil for no limit; 100
    # @option options [Integer] :max_header_bytes largest header section; 65,536
    # @option options [Integer] :max_headers most header fields; 200
    # @return [Client]
    # @raise [MissingTimeout]
    # @raise [InvalidRequest]
    # @raise [RactorError] in any but the main Ractor
    def new(base_url = nil, options = {})
      RactorError.refuse
      return new(nil, base_url) if base_url.is_a?(Hash)

      base = URL.parse(base_url) if base_url
      options = { basic: base.userinfo, **options } if base&.userinfo && !options.key?(:bearer)
      merged = defaults.merge(options)
      raise MissingTimeout unless merged.timeout

      Client.new(base&.without_userinfo, merged, Family.make(options[:max_idle], default: defaults.max_idle))
    end

    # Sets defaults for every client made from now on, and for Trunkline's own verbs; and the limits of the process.
    #
    # @yield [defaults] a Defaults: one writer for each option of Trunkline.new, and for max_connections and
    #   max_buffered_bytes, which hold for all clients together (see Options::OF_PROCESS)
    # @return [nil]
    # @raise [InvalidRequest] then nothing has changed
    def configure
      RactorError.refuse
      changes = Defaults.new
      yield changes
      limits = changes.process
      @lock.synchronize do
        options = changes.to_h
        @defaults = defaults.merge(options)
        @client = nil unless options.empty?
        limits.each { |name, value| Engine.public_send(:"#{name}=", value) }
      end
      nil
    end

    # What all clients of the process use together.
    #
    # @return [Hash{Symbol => Integer}] connections_in_use, and its limit max_connections; buffered_bytes, that servers
    #   may send over HTTP/2 before anybody takes them, and its limit max_buffered_bytes
    def stats
      Engine.process_stats
    end

    # Each verb calls as Client does, with one client for the whole process.

    # @return [Response]
    # @see Client#get
    def get(url, options = nil, &block)
      client.get(url, options, &block)
    end

    # @return [Response]
    def head(url, options = nil, &block)
      client.head(url, options, &block)
    end

    # @return [Response]
    def post(url, options = nil, &block)
      client.post(url, options, &block)
    end

    # @return [Response]
    def put(url, options = nil, &block)
      client.put(url, options, &block)
    end

    # @return [Response]
    def patch(url, options = nil, &block)
      client.patch(url, options, &block)
    end

    # @return [Response]
    def delete(url, options = nil, &block)
      client.delete(url, options, &block)
    end

    # @return [Response]
    def options(url, options = nil, &block)
      client.options(url, options, &block)
    end

    # @return [Response]
    def trace(url, options = nil, &block)
      client.trace(url, options, &block)
    end

    # @return [Response]
    # @see Client#request
    def request(method, url, options = nil, &block)
      client.request(method, url, options, &block)
    end

    private

    def defaults
      @defaults || Options.defaults
    end

    def client
      @client || @lock.synchronize do
        @family ||= Family.make(default: defaults.max_idle)
        @client ||= Client.new(nil, defaults, @family)
      end
    rescue StandardError
      RactorError.refuse # what Ruby said of the variables above is of no use to a caller
      raise
    end
  end
end
