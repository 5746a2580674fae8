# frozen_string_literal: true

require "time"
require_relative "../../percent"
require_relative "../../redacted"
require_relative "../../timeouts"
require_relative "options/credentials"
require_relative "options/names"
require_relative "options/tls"

module Trunkline
  module Facades
    module Typhoeus
      # Maps a request's options, which have Ethon's names, to client options: a method option_<name> for each name.
      #
      # Options without an effect here are ignored. Options that only libcurl supports are refused by name, because a
      # request that ignored them would not do what its caller asked for.
      class Options
        include Redacted

        include Names
        include Credentials
        include TLS

        # Seconds: libcurl's default connecttimeout.
        CONNECT = 300
        # The most redirects for maxredirs: -1, which is no limit in libcurl.
        MOST_REDIRECTS = 1000
        # Values of proxyauth: that Basic satisfies.
        BASIC = %i[basic any auto].freeze
        # Values of postredir:, each with the statuses of redirects that keep the method POST.
        POST_REDIRECTS = {
          get_all: [], post_301: [301], post_302: [302], post_303: [303], post_all: [301, 302, 303],
          false => [], 0 => []
        }.freeze
        PROXY_TYPES = {
          "http" => "http", "http_1_0" => "http", "https" => "https", "socks5" => "socks5",
          "socks5_hostname" => "socks5h"
        }.freeze
        HTTP_VERSIONS = {
          "none" => :auto, "httpv1_1" => :h1, "httpv2_0" => :auto, "httpv2_tls" => :auto, "httpv2tls" => :auto,
          "httpv2_prior_knowledge" => :h2, "httpv3" => :auto
        }.freeze

        # @return [Hash{Symbol => Object}] options of Trunkline.new
        attr_reader :client_options
        # @return [String]
        attr_reader :method
        # @return [String, nil] customrequest:, which replaces the method where Typhoeus does not set customrequest:
        #   itself
        attr_reader :custom_method
        # @return [Integer, nil]
        attr_reader :port

        # @return [Integer, nil] the largest body that is accepted
        attr_reader :maximum_bytes

        # @param options [Hash]
        # @raise [Typhoeus::Errors::InvalidOption, ArgumentError]
        def initialize(options)
          @options = options
          @method = "GET"
          @fields = []
          @default_fields = [] # fields that headers: overrides
          @seconds = {}
          @client_options = { decode: false }
          @maximum = MOST_REDIRECTS
          options.each { |name, value| read(name.to_sym, value) }
          complete
        end

        # @return [Integer, nil] the most redirects; nil when they are not followed
        def redirects = @follow ? @maximum : nil
        def fails_on_error? = @failing ? true : false
        def verbose? = @verbose ? true : false
        def chunked? = @chunked ? true : false
        def unrestricted_auth? = @unrestricted_auth ? true : false

        # As in libcurl, a Referer field of the caller is sent to every URL.
        # @return [Boolean] whether requests that follow a redirect get a Referer field
        def refers? = @refers && !own_referer?
        def path_as_is? = @path_as_is ? true : false

        # @return [Array<Integer>] statuses of redirects that keep the method POST
        def post_redirects = @post_redirects || []

        # @return [String] the scheme of a URL without one
        def scheme = @scheme || "http"

        # @return [Boolean] whether the request has a header field of that name
        def names?(name)
          @fields.any? { |known, _| known.casecmp?(name) }
        end

        private

        def read(name, value)
          name = renamed(name)
          return if IGNORED.include?(name) || OTHER_PROTOCOLS.include?(name)
          return __send__(:"option_#{name}", value) if SUPPORTED.include?(name)

          invalid(name) unless LIBCURL_ONLY.key?(name)
          raise ::Typhoeus::Errors::UnsupportedOption, name unless NEUTRAL.include?(value)
        end

        def renamed(name)
          return ALIASES[name] if ALIASES.key?(name)

          if (now = RENAMED[name])
            warn("Deprecated option #{name}. Please use #{now} instead.")
            return now
          end
          invalid(name, "Please try #{CHANGED[name]} instead of #{name}.") if CHANGED.key?(name)
          invalid(name, "The option #{name} was removed.") if REMOVED.include?(name)

          name
        end

        def complete
          connect = @seconds[:connecttimeout] || CONNECT
          stall = @stall || Timeouts::ENDLESS # libcurl's default
          @client_options[:timeout] = {
            queue: Timeouts::ENDLESS, resolve: connect, connect: connect, tls: connect, first_byte: stall, read: stall,
            write: stall, total: @seconds[:timeout]
          }.compact
          complete_credentials
          complete_key
          @client_options[:decode] = false if @raw
          @default_fields.each { |field| @fields << field unless names?(field.first) }
          @client_options[:headers] = @fields unless @fields.empty?
        end

        def invalid(name, help = nil)
          raise ::Typhoeus::Errors::InvalidOption.new(name, help)
        end

        def refuse(name, value, allowed)
          raise ::Typhoeus::Errors::UnsupportedOption.new(name, value, allowed)
        end

        # ---- the request ----

        def option_method(value)
          @method = value.to_s.upcase
        end

        def option_customrequest(value)
          @custom_method = value.to_s if value
        end

        def option_port(value)
          @port = Integer(value) if value
        end

        # "Name:" without a value removes a default field, "Name;" sends an empty field.
        def option_headers(value)
          (value || {}).each do |name, content|
            name = name.to_s
            text = content.is_a?(Array) ? content : content.to_s
            next @fields << [name.chomp(";"), ""] if name.end_with?(";") && text.empty?

            read_header(name, text)
          end
        end

        def read_header(name, text)
          case name.downcase
          when "expect"
            @client_options[:expect] = (@options[:expect_100_timeout_ms] || 1000) / 1000.0 if text == "100-continue"
          when "transfer-encoding"
            @chunked = text.to_s.casecmp?("chunked")
          else
            @fields << [name, text.empty? ? nil : text]
          end
        end

        def option_httpheader(value) = option_headers(value)

        { cookie: "Cookie", referer: "Referer", useragent: "User-Agent" }.each do |name, field|
          define_method(:"option_#{name}") do |value|
            @default_fields << [field, value.to_s] unless value.nil?
          end
        end

        def option_range(value)
          @fields << ["Range", "bytes=#{value}"] if value
        end

        def option_resume_from(value)
          @fields << ["Range", "bytes=#{Integer(value)}-"] if value && value != 0
        end
        alias option_resume_from_large option_resume_from

        def option_timecondition(value)
          fields = { "ifmodsince" => "If-Modified-Since", "ifunmodsince" => "If-Unmodified-Since" }
          return if value.nil? || value.to_s == "none"

          field = fields.fetch(value.to_s) { refuse(:timecondition, value, fields.keys.join(" and ")) }
          @fields << [field, Time.at(Integer(@options.fetch(:timevalue, 0))).httpdate]
        end

        # Read by option_timecondition.
        def option_timevalue(_value); end

        # ---- redirects, failures ----

        def option_followlocation(value)
          @follow = on?(value)
        end

        def option_maxredirs(value)
          number = Integer(value)
          @maximum = number.negative? ? MOST_REDIRECTS : [number, MOST_REDIRECTS].min
        end

        def option_postredir(value)
          @post_redirects = Array(value).flat_map do |name|
            POST_REDIRECTS.fetch(name) { refuse(:postredir, value, POST_REDIRECTS.keys.grep(Symbol).join(", ")) }
          end
        end

        # Trunkline's own option: libcurl always sends the body of a redirect from https to http.
        def option_redirect_body_to_http(value)
          @client_options[:redirect_body_to_http] = on?(value)
        end

        def option_unrestricted_auth(value)
          @unrestricted_auth = on?(value)
        end

        def option_autoreferer(value)
          @refers = on?(value)
        end

        def own_referer?
          headers = @options[:headers] || @options[:httpheader] || {}
          headers.any? { |name, _| name.to_s.casecmp?("referer") }
        end

        def option_failonerror(value)
          @failing = on?(value)
        end

        def option_verbose(value)
          @verbose = on?(value)
        end

        def option_protocols(value)
          names = Array(value).map { |name| name.to_s.downcase }
          return if value.nil? || names.include?("all") || (names.include?("http") && names.include?("https"))

          refuse(:protocols, value, "http and https together")
        end
        alias option_redir_protocols option_protocols

        def option_protocols_str(value)
          option_protocols(value&.to_s&.split(","))
        end
        alias option_redir_protocols_str option_protocols_str

        # ---- time ----

        def option_timeout(value) = limit(:timeout, value, 1)
        def option_timeout_ms(value) = limit(:timeout, value, 1000, :timeout_ms)
        def option_connecttimeout(value) = limit(:connecttimeout, value, 1)
        def option_connecttimeout_ms(value) = limit(:connecttimeout, value, 1000, :connecttimeout_ms)

        # Milliseconds override seconds. 0 is no limit.
        def limit(kind, value, unit, name = kind)
          return if value.nil?
          raise ArgumentError, "Value '#{value}' for option '#{name}' must be a number." unless value.is_a?(Numeric)
          return if unit == 1 && @options[:"#{kind}_ms"]

          @seconds[kind] = value.to_f / unit if value.positive?
        end

        # Limits each wait for the next byte; low_speed_limit: is ignored.
        def option_low_speed_time(value)
          @stall = Float(value) if value && value != 0
        end

        # Without effect: see option_low_speed_time.
        def option_low_speed_limit(_value); end

        def option_maxfilesize(value)
          @maximum_bytes = Integer(value) if value && value != 0
        end
        alias option_maxfilesize_large option_maxfilesize

        # Read by read_header, for the header field Expect.
        def option_expect_100_timeout_ms(_value); end

        # ---- addresses, proxies, protocols ----

        def option_default_protocol(value)
          @scheme = value.to_s if value
        end

        def option_path_as_is(value)
          @path_as_is = on?(value)
        end

        def option_unix_socket_path(value)
          @client_options[:unix] = value if value
        end

        def option_interface(value)
          @client_options[:bind] = value.to_s.sub(/\A(?:host|if)!/, "") if value
        end

        # ["host:port:address"]: addresses that are used instead of name resolution.
        def option_resolve(value)
          value && reroute(value) { |host, port, *address| ["#{host}:#{port}", "#{address.join(":")}:#{port}"] }
        end

        # ["host:port:other-host:other-port"]
        def option_connect_to(value)
          value && reroute(value) { |host, port, other, to| ["#{host}:#{port}", "#{other}:#{to || port}"] }
        end

        def reroute(value)
          routes = Array(value).map { |line| yield line.to_s.delete_prefix("+").split(":") }
          @client_options[:connect_to] = (@client_options[:connect_to] || {}).merge(routes.to_h)
        end

        # "" disables the environment's proxy.
        def option_proxy(value)
          return if value.nil?

          @client_options[:proxy] = value.to_s.empty? ? false : proxy_url(value.to_s)
        end

        def proxy_url(text)
          scheme, rest = text.include?("://") ? text.split("://", 2) : [proxy_scheme, text]
          port = @options[:proxyport]
          rest = "#{rest.chomp("/")}:#{port}" if port && !rest.match?(/:\d+\z/)
          "#{scheme}://#{proxy_credentials}#{rest}"
        end

        def proxy_scheme
          type = (@options[:proxytype] || @options[:proxy_type] || :http).to_s
          PROXY_TYPES.fetch(type) { refuse(:proxytype, type, PROXY_TYPES.keys.join(", ")) }
        end

        def proxy_credentials
          user, password = (@options[:proxyuserpwd] || "").split(":", 2)
          user ||= @options[:proxyusername] or return

          "#{Percent.component(user)}:#{Percent.component(password || @options[:proxypassword] || "")}@"
        end

        # Read by option_proxy.
        %i[proxyport proxytype proxyuserpwd proxyusername proxypassword].each do |name|
          define_method(:"option_#{name}") { |_value| nil }
        end

        def option_proxyauth(value)
          refuse(:proxyauth, value, ":basic") unless Array(value).all? { |name| BASIC.include?(name.to_s.to_sym) }
        end

        # "*" is every host; "" disables the environment's no_proxy.
        def option_noproxy(value)
          @client_options[:no_proxy] = value.to_s unless value.nil?
        end

        def option_http_version(value)
          return if value.nil?

          known = HTTP_VERSIONS.keys.join(", ")
          @client_options[:http] = HTTP_VERSIONS.fetch(value.to_s) { refuse(:http_version, value, known) }
        end

        # ---- the connection, the response ----

        # "" accepts every content coding that the client decodes.
        def option_accept_encoding(value)
          return if value.nil?

          @client_options[:decode] = true
          @fields << ["Accept-Encoding", value.to_s] unless value.to_s.empty?
        end

        def option_forbid_reuse(value)
          return unless on?(value)

          @fields << %w[Connection close]
          @client_options[:http] ||= :h1 # HTTP/2 has no such field
        end
        alias option_fresh_connect option_forbid_reuse

        # When the option is off, the body is not decoded.
        def option_http_content_decoding(value)
          @raw = !on?(value) unless value.nil?
        end

        def option_tcp_keepalive(value)
          return if value.nil?
          return @client_options[:tcp_keepalive] = false unless on?(value)

          probes = { idle: @options[:tcp_keepidle], interval: @options[:tcp_keepintvl] }.compact
          @client_options[:tcp_keepalive] = probes.empty? || probes
        end

        # Read by option_tcp_keepalive.
        def option_tcp_keepidle(_value); end
        def option_tcp_keepintvl(_value); end

        def on?(value)
          !value.nil? && value != false && value != 0
        end

        SUPPORTED = private_instance_methods.filter_map { |name| name[/\Aoption_(.+)/, 1]&.to_sym }.freeze
        private_constant :SUPPORTED
      end
    end
  end
end
