# frozen_string_literal: true

require_relative "../arguments"
require_relative "../errors"

module Trunkline
  class Options
    # The error for an unknown option. If other clients have an option of that name, the message says what to write
    # instead; otherwise it lists the three options with the most similar names.
    #
    # @api private
    module Unknown
      BASIC = "basic: [user, password]"
      FOLLOW = "follow: true, or follow: 5 for at most five redirects"
      CONNECT = "timeout: { connect: 2 }"
      VERIFY = "verify: false to accept any certificate, ca_file: to trust another authority"
      BODY = "body: for bytes or a file, form: for a Hash of fields, json: for JSON"
      CONNECTIONS = "max_connections_per_host:; connections are always kept and reused"
      RETRY = "retry: true, or a Hash of its settings"
      BASE = 'Trunkline.new("https://api.test", ...), with the base URL as its first argument'
      PLACE = 'the first argument, without a name: Trunkline.new("https://api.test", ...), client.get("/users", ...)'
      private_constant :PLACE, :BASIC, :FOLLOW, :CONNECT, :VERIFY, :BODY, :CONNECTIONS, :RETRY, :BASE

      # Advice for the names of options of curl and of other Ruby and Python clients.
      SYNONYMS = {
        %i[query query_params search] => "params:",
        %i[header] => "headers:",
        %i[cookie] => 'headers: { "Cookie" => "name=value" }',
        %i[user_agent useragent] => 'headers: { "User-Agent" => ... }',
        %i[content_type] => 'headers: { "Content-Type" => ... }',
        %i[accept] => 'headers: { "Accept" => ... }',
        %i[data payload body_stream postfields json_body] => BODY,
        %i[files file upload multi_part] => "multipart: { name: File.open(path) }",
        %i[basic_auth userpwd user username password http_basic_authentication] => BASIC,
        %i[digest_auth] => "digest: [user, password]",
        %i[token bearer_token access_token oauth_token] => "bearer: token",
        %i[authorization] => "bearer: token, #{BASIC}, or headers: { \"Authorization\" => ... }",
        %i[open_timeout connect_timeout connecttimeout] => CONNECT,
        %i[read_timeout] => "timeout: { read: 5 } between two parts of the answer, first_byte: for its beginning",
        %i[write_timeout] => "timeout: { write: 5 }",
        %i[ssl_timeout] => "timeout: { tls: 5 }",
        %i[max_time request_timeout total_timeout deadline operation_timeout] => "timeout: 5 for the whole call",
        %i[timeout_ms connecttimeout_ms] => "timeout: in seconds",
        %i[allow_redirects follow_redirects follow_redirect followlocation follow_location max_redirects maxredirs
           redirect redirects] => FOLLOW,
        %i[ssl_verify verify_ssl ssl_verifypeer verify_peer ssl_verify_peer ssl_verify_mode verify_mode insecure
           ssl ssl_options tls] => VERIFY,
        %i[ssl_verifyhost verify_host ssl_verify_hostname] => "verify_hostname: false",
        %i[ca cacert cainfo ca_certs ca_cert ssl_ca_file sslcacert] => "ca_file:",
        %i[capath ssl_ca_path] => "ca_path:",
        %i[cert_store ssl_cert_store] => "ca_store:",
        %i[cert certificate sslcert ssl_client_cert pem p12 pkcs12 ssl_cert] => "client_cert:",
        %i[key private_key sslkey ssl_client_key ssl_key] => "client_key:",
        %i[keypasswd key_password pem_password p12_password cert_password sslkeypasswd ssl_key_pass] =>
          "client_key_password:",
        %i[ssl_version sslversion min_version ssl_min_version] => 'min_tls: "1.2" or max_tls: "1.3"',
        %i[proxies proxy_url http_proxy https_proxy http_proxyaddr proxy_host] => 'proxy: "http://host:port"',
        %i[unix_socket socket sockethost unixsocket unix_socket_path] => "unix:",
        %i[interface local_host localaddress] => "bind:",
        %i[resolve host_mapping] => "connect_to:",
        %i[http_version http2 httpversion version] => "http: :auto, :h1 or :h2",
        %i[compress compressed accept_encoding encoding] => "decode:",
        %i[max_size maxfilesize max_filesize] => "max_body_bytes:",
        %i[pool_size pool max_connections_per_route connection_pool persistent keep_alive keepalive
           keep_alive_timeout] => CONNECTIONS,
        %i[tcp_keep_alive tcp_keepalive_interval] => "tcp_keepalive:",
        %i[retries max_retries retry_options] => RETRY,
        %i[circuit_breaker circuit] => "breaker: true",
        %i[rate_limit throttle limiter] => "rate: with a Hash of its settings",
        %i[middleware middlewares plugins] => "use:",
        %i[cookie_jar jar] => "cookies:",
        %i[base_url base_uri prefix_url host] => BASE,
        %i[url uri path endpoint] => PLACE,
        %i[threads in_threads workers in_flight max_concurrency parallel parallelism] =>
          "concurrency:, an option of batch, each and map",
        %i[debug verbose debug_output] => "logger: with log: :headers",
        %i[to output save_to outfile] => "client.download(url, to: path)",
        %i[stream_to on_data stream_body] => "a block, which takes the body as it comes"
      }.each_with_object({}) { |(names, advice), all| names.each { |name| all[name] = advice } }.freeze

      SUGGESTIONS = 3
      # A name that is less similar than this to every option may be part of the data that was to be sent.
      MIN_SIMILARITY = 0.8
      private_constant :SUGGESTIONS, :MIN_SIMILARITY

      class << self
        # @param name [Object] a Symbol, or another object that was given as an option's name
        # @param known [Array<Symbol>]
        # @return [InvalidRequest]
        def error(name, known)
          InvalidRequest.new("unknown option #{shown(name)}; #{advice(name, known)}")
        end

        private

        def advice(name, known)
          symbol = name.to_sym if name.is_a?(String) || name.is_a?(Symbol)
          return "its name must be a Symbol: #{name}:" if name.is_a?(String) && known.include?(symbol)
          return "instead: #{SYNONYMS[symbol]}" if SYNONYMS.key?(symbol)

          "#{nearest(name.to_s, known)}docs/options.md lists all"
        end

        # @return [String, nil] nil without did_you_mean (ruby --disable-did_you_mean)
        def nearest(text, known)
          return unless defined?(DidYouMean::JaroWinkler)

          similarity = known.to_h { |option| [option, DidYouMean::JaroWinkler.distance(option.to_s, text)] }
          names = similarity.keys.max_by(SUGGESTIONS, &similarity)
          hint = "; #{Arguments::BODY_HINT}" if similarity.fetch(names.first) < MIN_SIMILARITY
          "the nearest are #{names.map { |option| "#{option}:" }.join(", ")}#{hint}; "
        end

        def shown(name)
          name.is_a?(String) || name.is_a?(Symbol) ? name.inspect[0, 60] : "of class #{name.class}"
        end
      end
    end
  end
end
