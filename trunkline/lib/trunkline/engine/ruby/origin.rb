# frozen_string_literal: true

require_relative "config"
require_relative "../../of_main_ractor"
require_relative "../../redacted"

module Trunkline
  module Engine
    # The destination of one client's requests to one origin; see engine.rb for the facts.
    class Origin
      include Redacted

      # The proxy that is dialled; see Proxy#through.
      Through = Struct.new(:kind, :tunnel, :host, :port, :tls_name, :label, :user, :password, :authorization) do
        include Redacted

        def http? = kind == :http
      end
      private_constant :Through

      attr_reader :url, :forwarder, :json_decoder, :config, :host, :port, :unix_path, :tls_name, :label, :authority,
                  :prefix, :authorization, :proxy

      # @param config [Config]
      # @param url [URL] the root of the origin
      # @param facts [Hash]
      def initialize(config, url, facts)
        Ruby::Checks.instance(config, Config)
        @anchor = OfMainRactor::ANCHOR
        @config = config
        @url = url
        @host, @port, @unix_path, @tls_name, @label, @authority, @prefix, @authorization, @forwarder, @json_decoder,
          @bound_fields = facts.fetch_values(:host, :port, :unix_path, :tls_name, :label, :authority, :prefix,
                                             :authorization, :forwarder, :json_decoder, :bound_fields)
        through = facts.fetch(:proxy)
        @proxy = Through.new(*through.fetch_values(*Through.members)).freeze if through
        @key_made = []
        refuse_http2 if @config.http == :h2 && !may_share?
        freeze
      end

      # @return [Boolean] whether the client's credentials are sent to it
      def bound_fields? = @bound_fields ? true : false

      # @return [Boolean] whether its connections may use HTTP/2, and so be shared by many calls
      def may_share?
        return false if @config.http == :h1 || (@proxy && !@proxy.tunnel)

        @config.http == :h2 || !@tls_name.nil?
      end

      # @return [Boolean] whether HTTP/2 is used without negotiation (RFC 9113 3.3)
      def prior_knowledge? = @config.http == :h2 && @tls_name.nil? && may_share?

      # @return [Boolean] whether requests are sent in absolute-form
      def absolute_form? = !@forwarder.nil?

      # Calls may share a connection if their keys are equal. Computed once the TLS contexts exist.
      #
      # @return [String]
      # @raise [Ruby::Failure]
      def key
        @key_made[0] ||= make_key.freeze
      end

      # @return [Boolean] whether #key was called before
      def key? = !@key_made.empty?

      # @return [String] the host that the socket connects to
      def dialled_host = @proxy ? @proxy.host : @host

      # @return [Integer]
      def dialled_port = @proxy ? @proxy.port : @port

      def inspect = "#<#{self.class} #{@label}>"
      alias to_s inspect

      private

      def refuse_http2
        raise InvalidRequest, "http: :h2 cannot be spoken to a proxy that is sent the request itself; " \
                              "use :auto, an https URL, or a SOCKS proxy"
      end

      # Connections to a proxy that receives the requests themselves serve every server. The proxy's credentials are
      # part of the key, since a connection of one user must not be used for another.
      def make_key
        parts = [@unix_path || [dialled_host, dialled_port], @config.sockets.to_a]
        parts << [@proxy.to_a, @proxy.tls_name && @config.proxy_tls.id] if @proxy
        parts << [@tls_name, @tls_name && @config.tls.id, @proxy && @host, @port] if @proxy.nil? || @proxy.tunnel
        parts << :http2 if prior_knowledge?
        parts << @config.egress.key if @config.egress
        Marshal.dump(copied(parts))
      end

      # Returns the parts with new Strings, all BINARY: what Marshal writes depends on their encodings, which are those
      # of the caller's URL, and on whether two of them are one object.
      def copied(parts)
        parts.map do |part|
          case part
          when Array then copied(part)
          when String then part.b
          else part
          end
        end
      end
    end
  end
end
