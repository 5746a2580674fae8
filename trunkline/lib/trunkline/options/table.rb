# frozen_string_literal: true

require_relative "checks"
require_relative "option"

module Trunkline
  # Adds the table of options to Options.
  class Options
    # For the engine, 0 means no limit.
    NIL_AS_ZERO = ->(value) { value || 0 }
    HASH = "Hash[Symbol, untyped]"
    # The options that add a policy: for each, its class in Policy, Option#compared, its type in
    # RBS, and its description.
    POLICIES = {
      retry: [:Retry, :never, "bool | #{HASH} | nil", "retries requests that may be sent again, within a budget"],
      breaker: [:Breaker, :never, "bool | #{HASH} | nil", "stops calling a failing origin for a while"],
      rate: [:Rate, :never, "bool | :server | #{HASH} | nil", "maximum number of requests to an origin per second"],
      hedge: [:Hedge, :never, "bool | #{HASH} | nil", "sends a safe request once more when its response is late"],
      coalesce: [:Coalesce, :coalescing, "bool | #{HASH} | nil",
                 "lets equal GETs that are in flight share one response"],
      cache: [:Cache, :coalescing, "bool | _CacheStore | #{HASH} | nil",
              "stores and reuses responses as RFC 9111 allows"],
      cookies: [:Cookies, :coalescing, "bool | CookieJar | nil", "stores cookies and sends them"]
    }.freeze
    # app_env: is sent in parentheses in User-Agent (RFC 9110 10.1.5).
    APP = [/\A[!-'*-~](?:[ -'*-~]*[!-'*-~])?\z/, "a text of visible ASCII characters without parentheses"].freeze
    private_constant :NIL_AS_ZERO, :HASH, :POLICIES, :APP

    # All options by name, in the order in which they are documented. A new option needs only a row here: Trunkline.new,
    # calls and Trunkline.configure then accept it, and `rake options` writes it into RBS and docs/options.md.
    TABLE = [
      Option.new(:timeout, "timeout",
                 "required, here or by Trunkline.configure: seconds for the whole call, or a Hash of seconds for its " \
                 "phases: resolve, connect, tls, write, first_byte, read, queue, total (see Timeouts); without " \
                 "total, a phase that is not named has 30",
                 check: nil, compared: :never, limit: true,
                 engine: { timeouts: :phases.to_proc, total: :total.to_proc }),
      Option.new(:headers, "headers",
                 "header fields of every call; nil as a value removes a field that was set before; a callable value " \
                 "is called for each request that a call sends, redirects included",
                 check: :headers, compared: :coalescing,
                 default: [].freeze, default_doc: "none", per_call: true, hidden: true),
      Option.new(:params, "params?", "parameters that are added to the query of every call (see Query)",
                 check: :params, compared: :coalescing, per_call: true, hidden: true),
      Option.new(:bearer, "(String | _Token)?",
                 "a token for Authorization: Bearer (RFC 6750), or a callable that returns it, called before each " \
                 "request",
                 check: :bearer, compared: :coalescing, per_call: true, hidden: true),
      Option.new(:basic, "([String, String] | _Credentials)?",
                 "user and password for Authorization: Basic (RFC 7617), or a callable that returns them, called " \
                 "before each request",
                 check: :basic, compared: :coalescing, per_call: true, hidden: true),
      Option.new(:digest, "[String, String]?", "user and password for Digest (RFC 7616)",
                 check: :digest, compared: :coalescing, hidden: true),
      Option.new(:auth, "_Signer?", "an object that signs requests and handles challenges (see Policy::Auth)",
                 check: :auth, compared: :coalescing, hidden: true),
      Option.new(:netrc, "bool | path | nil",
                 "true for ~/.netrc, or the path of such a file: basic credentials by host",
                 check: :netrc, compared: :coalescing, default_doc: "false", hidden: true),

      Option.new(:follow, "Integer | bool | nil", "maximum number of redirects to follow; true for 10",
                 check: :follow, compared: :coalescing, default: false, per_call: true),
      Option.new(:raise, "bool",
                 "whether a 4xx or 5xx response is raised as a ClientError or ServerError, before a block gets any " \
                 "of its body; among many requests, the error is the result",
                 check: :boolean, compared: :never, default: false),
      Option.new(:redirect_body_to_http, "bool",
                 "whether a redirect from https to http that keeps the method (307, 308) may send the body " \
                 "unencrypted; otherwise such a redirect is refused",
                 check: :boolean, compared: :coalescing, default: false),
      Option.new(:credential_headers, "Array[field_name]",
                 "header fields that are bound to their origin, as Authorization, Cookie, Proxy-Authorization and " \
                 "X-Api-Key are: a redirect to another origin drops them, and with a base URL, those of the client " \
                 "are sent only to its origin",
                 check: :field_names, compared: :coalescing, default: [].freeze, default_doc: "none"),
      Option.new(:replay, ":safe | :never",
                 ":safe to send GET, HEAD, OPTIONS and TRACE once more when a reused connection ended before the " \
                 "first byte of a response",
                 check: :one_of, compared: :coalescing, allowed: %i[never safe], default: :never,
                 engine: { replay_safe: ->(value) { value == :safe } }),
      Option.new(:expect, "seconds | { ?above: Integer, ?wait: seconds } | false | nil",
                 "seconds to wait for 100 Continue before a body is sent; or a Hash of these seconds (wait: 1) and " \
                 "the size in bytes above which a body waits (above: 1,048,576)",
                 check: :expect, compared: :coalescing,
                 default: false, engine: { expect: ->(value) { value ? value[:wait] : 0.0 } }),
      Option.new(:content_digest, "bool | String | nil",
                 'whether to send the digest of each body in Content-Digest (RFC 9530): true or "sha-256", or ' \
                 '"sha-512"; a body that is not in memory is read twice',
                 check: :policy, compared: :coalescing, allowed: :ContentDigest, default_doc: "false"),
      Option.new(:decode, "bool", "whether to decode gzip, deflate, br and zstd",
                 check: :boolean, compared: :always, default: true, engine: :decode),
      Option.new(:early_hints, "_EarlyHints?", "called with the Headers of each 103 (Early Hints)",
                 check: :callable, compared: :coalescing, per_call: true, hidden: true),

      Option.new(:policies, ":standard | false | nil",
                 ":standard for the policies that are recommended for calls between services: retry: true, " \
                 "breaker: true, and a total timeout (docs/policies.md)",
                 check: :policies, compared: :coalescing, facades: true, default_doc: "none"),
      Option.new(:use, "_Middleware | Array[_Middleware] | false",
                 "middleware, outermost first: called with each request and with a callable that forwards it; the " \
                 "middleware of with and of a call is added to the client's; false for none (docs/middleware.md)",
                 check: :use, compared: :never, facades: true, default: [].freeze, default_doc: "none", hidden: true),
      *POLICIES.map do |name, (policy, compared, type, doc)|
        Option.new(name, type, "#{doc} (docs/policies.md)", check: :policy, compared: compared, facades: true,
                                                            allowed: policy, default_doc: "none", hidden: true)
      end,
      Option.new(:deadline_header, "String | false | nil",
                 "name of a header field that has the seconds that are left for the call",
                 check: :field_name, compared: :coalescing, facades: true, default_doc: "none"),
      Option.new(:app_name, "String?",
                 "the name of the application, for X-App-Name and User-Agent (docs/identity.md)",
                 check: :text, compared: :coalescing, allowed: APP, default_doc: "none"),
      Option.new(:app_env, "String?", "the environment in which the application runs, for X-App-Env and User-Agent",
                 check: :text, compared: :coalescing, allowed: APP,
                 default_doc: "with app_name:, RAILS_ENV or RACK_ENV"),
      Option.new(:deprecations, "bool | _DeprecationHandler | _Warns | nil",
                 "receives a warning, once for each endpoint, when a server announces the endpoint's removal " \
                 "(Deprecation, Sunset): true for the logger, or a callable, an ActiveSupport::Deprecation or a " \
                 "Logger",
                 check: :deprecations, compared: :coalescing, facades: true,
                 default_doc: "true with app_name:, else false", hidden: true),

      Option.new(:logger, "(_Logs | _Warns)?",
                 "logs each call of the client when the call has ended, in one line unless log: is given; its " \
                 "method info is called, or warn if it has no info (docs/logging.md)",
                 check: :logger, compared: :never, facades: true,
                 default_doc: "with log: and curl:, that of Trunkline.configure", hidden: true),
      Option.new(:log, ":line | :headers | :bodies | false | nil",
                 "what is logged of each call: a line; also its header fields; also the beginnings of its bodies; " \
                 "nothing",
                 check: :log, compared: :never, facades: true, default_doc: ":line with logger: or curl:, else false"),
      Option.new(:curl, "bool", "whether each request is also logged as a curl command",
                 check: :boolean, compared: :never, facades: true, default: false),
      Option.new(:redact, "Array[field_name]",
                 "names of header fields, parameters and JSON members whose values are hidden wherever calls are " \
                 "shown, in addition to those with the names of credentials; added to the names that were set " \
                 "before (docs/logging.md)",
                 check: :redact, compared: :never, facades: true, default: [].freeze, default_doc: "none"),

      Option.new(:json_encoder, "_JSONEncoder?",
                 "called with the value of json:, returns the JSON: Oj.method(:generate), for example",
                 check: :callable, compared: :coalescing,
                 default_doc: "ActiveSupport's forms when it is loaded, and the json gem",
                 hidden: true),
      Option.new(:json_decoder, "_JSONDecoder?", "called with a body, returns the result of Response#json",
                 check: :callable, compared: :coalescing, default_doc: "JSON.parse", hidden: true),

      Option.new(:verify, "bool", "whether to check the server's certificate",
                 check: :boolean, compared: :always, default: true, engine: :verify, group: :tls),
      Option.new(:verify_hostname, "bool", "whether the certificate must be for the server's name",
                 check: :boolean, compared: :always, default: true, engine: :verify_hostname, group: :tls),
      Option.new(:ca_file, "path?",
                 "PEM file of trusted certificates. New connections read a certificate or key file again when it " \
                 "has changed; while the changed file cannot be used, its previous contents are",
                 check: :readable, compared: :always, allowed: "file",
                 default_doc: "the system's", engine: :ca_file, group: :tls),
      Option.new(:ca_path, "path?", "directory of trusted certificates, hashed as OpenSSL requires",
                 check: :readable, compared: :always, allowed: "directory",
                 default_doc: "the system's", engine: :ca_path, group: :tls),
      Option.new(:ca_store, "OpenSSL::X509::Store?",
                 "used instead of ca_file: and ca_path:; must not be changed afterwards",
                 check: :ca_store, compared: :coalescing, hidden: true, engine: :ca_store, group: :tls),
      Option.new(:client_cert, "client_cert?",
                 "the client's certificate, with its chain: a PEM file, PEM text, an OpenSSL::X509::Certificate or " \
                 "an Array of these; or with its key, PKCS#12: a .p12 or .pfx file, which is read once, its bytes, " \
                 "or an OpenSSL::PKCS12",
                 check: :client_cert, compared: :always, hidden: true, engine: :client_cert, group: :tls),
      Option.new(:client_key, "client_key?", "the key of client_cert:: a PEM file, PEM text, or an OpenSSL::PKey",
                 check: :client_key, compared: :coalescing,
                 default_doc: "client_cert's", hidden: true, engine: :client_key, group: :tls),
      Option.new(:client_key_password, "String?", "opens an encrypted client_key:, or the PKCS#12 of client_cert:",
                 check: :client_key_password, compared: :coalescing,
                 hidden: true, engine: :client_key_password, group: :tls),
      Option.new(:verify_depth, "Integer?",
                 "maximum number of intermediate certificates between the server's certificate and a trusted root",
                 check: :integer, compared: :coalescing, allowed: 0..100, default_doc: "OpenSSL's limit, 100",
                 engine: :verify_depth, group: :tls),
      Option.new(:tls_name, "String?",
                 "the name to send as SNI and to verify, for every server that the client calls",
                 check: :tls_name, compared: :always, default_doc: "the URL's host"),
      Option.new(:http, ":auto | :h1 | :h2",
                 ":auto for HTTP/2 if an https server selects it; :h1 for HTTP/1.1 only; :h2 for HTTP/2 only, also " \
                 "for http URLs (prior knowledge, RFC 9113 3.3)",
                 check: :http, compared: :coalescing, default: :auto, engine: :http),
      Option.new(:min_tls, '"1.2" | "1.3"', "the lowest TLS version",
                 check: :tls_version, compared: :coalescing,
                 default: Checks::TLS_VERSIONS.fetch("1.2"), default_doc: '"1.2"',
                 engine: :min_version, group: :tls),
      Option.new(:max_tls, '("1.2" | "1.3")?', "the highest TLS version",
                 check: :tls_version, compared: :coalescing, default_doc: "the newest that OpenSSL supports",
                 engine: { max_version: NIL_AS_ZERO }, group: :tls),
      Option.new(:ciphers, "String?", 'ciphers of TLS 1.2 in OpenSSL\'s format, such as "ECDHE+AESGCM"',
                 check: :text, compared: :coalescing, allowed: Checks::CIPHERS,
                 default_doc: "OpenSSL's", engine: :ciphers, group: :tls),
      Option.new(:ciphersuites, "String?", 'ciphers of TLS 1.3, names joined by ":" (RFC 8446 B.4)',
                 check: :text, compared: :coalescing, allowed: Checks::CIPHERSUITES, default_doc: "OpenSSL's",
                 engine: :ciphersuites, group: :tls),
      Option.new(:keylog, "path?", "file to which TLS secrets are appended",
                 check: :path, compared: :coalescing,
                 default_doc: "the environment's SSLKEYLOGFILE", engine: :keylog, group: :tls),

      Option.new(:connect_to, "(String | Hash[String, String])?",
                 '"host:port" to connect to instead, or a Hash from "host:port" to "host:port"',
                 check: :connect_to, compared: :always),
      Option.new(:unix, "path?", "path of a Unix socket to connect to instead", check: :unix, compared: :always),
      Option.new(:proxy, "(String | URI::Generic | false)?",
                 "http://, https://, socks5:// or socks5h://, optionally with user:password@; host:port for http; " \
                 "false for none",
                 check: :proxy, compared: :coalescing,
                 default_doc: "the environment's http_proxy, https_proxy, all_proxy and no_proxy"),
      Option.new(:no_proxy, "(String | Array[String])?", "hosts that are not called through a proxy (see NoProxy)",
                 check: :no_proxy, compared: :coalescing,
                 default_doc: "the environment's no_proxy, for the environment's proxies"),
      Option.new(:egress, ":public | egress_rule | false | nil",
                 "addresses to which connections are allowed: :public for public addresses only, or a Hash with " \
                 "exceptions to it: allow: and deny: (networks), ports:, unix:, proxy: (docs/egress.md)",
                 check: :egress, compared: :always, facades: true, default_doc: "anywhere", engine: :egress),
      Option.new(:bind, "String?", "an address or an interface of this machine to connect from",
                 check: :bind, compared: :coalescing,
                 engine: { address: ->(from) { from && from[:address] },
                           interface: ->(from) { from && from[:interface] } },
                 group: :sockets),
      Option.new(:tcp_keepalive, "bool | Integer | { ?idle: Integer, ?interval: Integer } | nil",
                 "seconds of silence before the first probe, or a Hash of these and the seconds between probes",
                 check: :tcp_keepalive, compared: :coalescing,
                 default: Checks::KEEPALIVE, default_doc: "{ idle: 30, interval: 10 }",
                 engine: { keepalive_idle: ->(seconds) { seconds[:idle] },
                           keepalive_interval: ->(seconds) { seconds[:interval] } },
                 group: :sockets),
      Option.new(:tcp_user_timeout, "seconds | nil", "seconds for which sent bytes may stay unacknowledged",
                 check: :tcp_user_timeout, compared: :coalescing, default: 0, default_doc: "the system's limit",
                 engine: :user_timeout, group: :sockets),

      Option.new(:max_connections_per_host, "Integer",
                 "maximum number of connections to one origin; further calls wait in a queue",
                 check: :integer, compared: :coalescing, allowed: 1..65_536,
                 limit: true, default: 64, engine: :max_connections_per_host),
      Option.new(:max_idle, "Integer",
                 "gives the client a pool of its own, with this maximum number of idle connections",
                 check: :integer, compared: :coalescing, allowed: 0..65_536, limit: true, set_by: :client,
                 default_doc: "the pool of the process, with 256 idle connections"),
      Option.new(:idle_timeout, "seconds", "seconds for which an idle connection is kept",
                 check: :seconds, compared: :coalescing,
                 limit: true, default: 30.0, default_doc: "30", engine: :idle_timeout),
      Option.new(:max_age, "seconds?",
                 "seconds for which a connection is reused, and for which a resolved address is used, so that calls " \
                 "follow a service that has moved; nil for no limit",
                 check: :max_age, compared: :coalescing,
                 limit: true, default: 300.0, default_doc: "300", engine: :max_age),
      Option.new(:busy_poll, "seconds | bool | nil",
                 "seconds, at most 0.001, or true for 0.00006, for which a call that is alone in its process polls " \
                 "for its response instead of sleeping, as long as the connection's responses arrive within that " \
                 "time; useful only with a server on the same machine, where a call takes about two thirds of the " \
                 "time, for up to a third more CPU",
                 check: :busy_poll, compared: :coalescing, default: 0.0, default_doc: "false", engine: :busy_poll),
      Option.new(:max_body_bytes, "Integer?",
                 "maximum size of a body in bytes, decoded; a limit that is set also holds for streamed bodies; nil " \
                 "for no limit",
                 check: :integer, compared: :coalescing, allowed: 1..(1 << 62), limit: true, default: 256 * 1024 * 1024,
                 default_doc: "268,435,456 (256 MiB) for buffered bodies, none for streamed ones",
                 engine: { max_body_bytes: NIL_AS_ZERO }),
      Option.new(:max_decode_ratio, "Integer?",
                 "maximum ratio of a body's decoded to its encoded size, once the body has passed 16 MiB; nil for " \
                 "no limit",
                 check: :integer, compared: :coalescing, allowed: 1..1_000_000, limit: true, default: 100,
                 engine: { max_decode_ratio: NIL_AS_ZERO }),
      Option.new(:max_header_bytes, "Integer", "maximum size of a header section in bytes",
                 check: :integer, compared: :coalescing, allowed: 256..(1 << 30),
                 limit: true, default: 65_536, default_doc: "65,536",
                 engine: :max_header_bytes),
      Option.new(:max_headers, "Integer", "maximum number of fields in a header section",
                 check: :integer, compared: :coalescing, allowed: 1..65_536,
                 limit: true, default: 200, engine: :max_headers),

      # Content has no check here; body.rb, query.rb and multipart.rb check it when they encode it.
      Option.new(:body, "body",
                 "String, IO, Pathname, Enumerable or callable; streamed, with Content-Length when its size is known",
                 check: nil, set_by: :call),
      Option.new(:json, "untyped", "encoded as JSON, with its Content-Type", check: nil, set_by: :call),
      Option.new(:form, "params", "encoded as application/x-www-form-urlencoded", check: nil, set_by: :call),
      Option.new(:multipart, "multipart", "encoded as multipart/form-data; files are streamed",
                 check: nil, set_by: :call),
      Option.new(:progress, "bool | _TransferProgress | nil",
                 "called with a TransferProgress while the body is sent, a few times a second and at the end; true " \
                 "for a progress bar on a terminal",
                 check: :progress, set_by: :call),
      Option.new(:template, "String?",
                 'template of the URL, such as "/users/:id": reported to instruments, and never sent',
                 check: :template, set_by: :call),
      Option.new(:stream, "bool",
                 "whether the call returns when the head has arrived; Response#read and #each then read the body",
                 check: :boolean, default: false, set_by: :call),

      Option.new(:on_chunk, "^(String, Response) -> void",
                 "called with each chunk of the body as it arrives, and the response",
                 check: :callable, set_by: :many),
      Option.new(:on_event, "^(ServerSentEvent, Response) -> void",
                 "called with each server-sent event as it arrives, and the response",
                 check: :callable, set_by: :many),

      Option.new(:max_connections, "Integer?",
                 "maximum number of connections that calls use at the same time, in the whole process; idle " \
                 "connections do not count. Further calls wait in a queue, within their queue timeout",
                 check: :integer, allowed: 1..1_048_576, limit: true, set_by: :process,
                 default_doc: "half of the descriptors that the process may open (RLIMIT_NOFILE)"),
      # The minimum of 1 MiB suffices for 16 streams.
      Option.new(:max_buffered_bytes, "Integer?",
                 "maximum number of bytes of HTTP/2 responses that servers may send before callers read them, in " \
                 "the whole process. A call needs 1 MiB of it while half of it is free, then 64 KiB, which become 1 " \
                 "MiB when its response is read as it arrives; a call that cannot get 64 KiB waits in a queue",
                 check: :integer, allowed: 1_048_576..1_099_511_627_776, limit: true, set_by: :process,
                 default_doc: "268,435,456 (256 MiB)")
    ].to_h { |option| [option.name, option] }.freeze
  end
end
