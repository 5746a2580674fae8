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
    # @option options [Numeric, Hash, Timeouts] :timeout required, here or by Trunkline.configure: seconds for the whole
    #   call, or a Hash of seconds for its phases: resolve, connect, tls, write, first_byte, read, queue, total (see
    #   Timeouts); without total, a phase that is not named has 30
    # @option options [Hash, Array] :headers fields of every call; nil as a value removes one that was set before
    #   (default: none)
    # @option options [Hash, Array, nil] :params added to the query of every call (see Query)
    # @option options [String, nil] :bearer a token for Authorization: Bearer (RFC 6750)
    # @option options [Array(String, String), nil] :basic user and password for Authorization: Basic (RFC 7617)
    # @option options [Array(String, String), nil] :digest user and password for Digest (RFC 7616)
    # @option options [#sign, #retry?, nil] :auth an object that signs requests and sees challenges (see Policy::Auth)
    # @option options [Boolean, String, Pathname, nil] :netrc true for ~/.netrc, or a path of such a file: basic
    #   credentials by host (default: false)
    # @option options [Integer, false, nil] :follow how many redirects to follow (default: false)
    # @option options [Boolean] :redirect_body_to_http whether a redirect from https to http that keeps the method (307,
    #   308) may send the body on, unencrypted; otherwise such a redirect is refused (default: false)
    # @option options [Array<String, Symbol>] :credential_headers fields to be bound to their origin like Authorization,
    #   Cookie, Proxy-Authorization and X-Api-Key: a redirect to another origin does not carry them on, and with a base
    #   URL, those of the client go to its origin alone (default: none)
    # @option options [Symbol] :replay :safe to send GET, HEAD, OPTIONS and TRACE once more when a reused connection
    #   died without a byte of an answer (default: :never)
    # @option options [Numeric, false, nil] :expect seconds to wait for 100 Continue before a body is sent (default:
    #   false)
    # @option options [Boolean] :decode whether to undo gzip, deflate, br and zstd (default: true)
    # @option options [#call, nil] :early_hints called with the Headers of each 103
    # @option options [Boolean] :verify whether to check the server's certificate (default: true)
    # @option options [Boolean] :verify_hostname whether the certificate must be for the server's name (default: true)
    # @option options [String, Pathname, nil] :ca_file PEM file of trusted certificates. New connections read it again
    #   when it has changed, and so the other files of certificates and keys; while what they find cannot be used, what
    #   was read before is (default: the system's)
    # @option options [String, Pathname, nil] :ca_path directory of trusted certificates, hashed as OpenSSL wants it
    #   (default: the system's)
    # @option options [OpenSSL::X509::Store, nil] :ca_store instead of ca_file: and ca_path:; it is used as it is, and
    #   must not change any more
    # @option options [String, Pathname, nil] :client_cert PEM file of the client's certificate
    # @option options [String, Pathname, nil] :client_key PEM file of the key of client_cert: (default: client_cert's
    #   file)
    # @option options [Integer, nil] :verify_depth how many intermediate certificates may stand between the server's own
    #   and a trusted root (default: OpenSSL's limit, 100)
    # @option options [String, nil] :tls_name the name to send as SNI and to verify, for every server that the client
    #   calls (default: the URL's host)
    # @option options [Symbol] :http :auto for HTTP/2 where an https server chooses it; :h1 for HTTP/1.1 alone; :h2 for
    #   HTTP/2 alone, with http too (prior knowledge, RFC 9113 3.3) (default: :auto)
    # @option options [String] :min_tls the lowest version of TLS (default: "1.2")
    # @option options [String, nil] :max_tls the highest version of TLS (default: the newest there is)
    # @option options [String, nil] :ciphers ciphers of TLS 1.2 in OpenSSL's format, such as "ECDHE+AESGCM" (default:
    #   OpenSSL's)
    # @option options [String, nil] :ciphersuites ciphers of TLS 1.3, names joined by ":" (RFC 8446 B.4) (default:
    #   OpenSSL's)
    # @option options [String, Pathname, nil] :keylog file that TLS secrets are appended to (default: the environment's
    #   SSLKEYLOGFILE)
    # @option options [String, Hash{String => String}, nil] :connect_to "host:port" to connect to instead, or a Hash of
    #   those by "host:port"
    # @option options [String, Pathname, nil] :unix path of a Unix socket to connect to instead
    # @option options [String, URI::Generic, false, nil] :proxy http://, https://, socks5:// or socks5h://, perhaps with
    #   user:password@; false for none (default: the environment's http_proxy, https_proxy, all_proxy and no_proxy)
    # @option options [String, Array<String>, nil] :no_proxy hosts that no proxy is for (see NoProxy) (default: the
    #   environment's no_proxy, for the environment's proxies)
    # @option options [String, nil] :bind an address or an interface of this machine, to connect from
    # @option options [Boolean, Integer, Hash, nil] :tcp_keepalive seconds of silence before the first probe, or these
    #   and the seconds between probes as a Hash (default: { idle: 30, interval: 10 })
    # @option options [Numeric, nil] :tcp_user_timeout seconds for which sent bytes may lie unacknowledged (default: the
    #   system's limit)
    # @option options [Integer] :max_connections_per_host connections to one origin; further calls wait their turn
    #   (default: 64)
    # @option options [Integer] :max_idle gives the client connections of its own, and how many of them may be idle
    #   (default: the process's connections, of which 256 may be idle)
    # @option options [Numeric] :idle_timeout seconds for which an idle connection is kept (default: 30)
    # @option options [Numeric, nil] :max_age seconds for which a connection takes calls, and for which an address that
    #   was looked up is used, so that a service that has moved is followed; nil for no limit (default: 300)
    # @option options [Numeric, Boolean, nil] :busy_poll seconds, at most 0.001, or true for 0.00006, for which a call
    #   that is alone in its process polls for its answer instead of sleeping, as long as its connection's answers come
    #   within that time; of use only with a server on the same machine, where a call takes about two thirds of the
    #   time, for up to a third more CPU (default: false)
    # @option options [Integer, nil] :max_body_bytes bytes of the largest body, decoded; one that is given holds for
    #   streamed ones too; nil for no limit (default: 268,435,456 (256 MiB) for bodies that are kept whole, none for
    #   those that are streamed)
    # @option options [Integer, nil] :max_decode_ratio how many times its size a body may unpack to, once it has passed
    #   16 MiB; nil for no limit (default: 100)
    # @option options [Integer] :max_header_bytes bytes of the largest header section (default: 65,536)
    # @option options [Integer] :max_headers fields of the largest header section (default: 200)
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
