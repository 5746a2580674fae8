# frozen_string_literal: true

require_relative "../host"
require_relative "../redacted"
require_relative "../redaction"

module Trunkline
  module CurlCommand
    # The curl arguments for a client's connection options: the proxy, the Unix socket or the address to connect to,
    # TLS, the HTTP version and the timeouts. Keys and certificates that are not files, tls_name:, and the phases of
    # timeout: for which curl has no option are left out.
    #
    # @api private
    class Connection
      include Redacted

      VERSIONS = { h1: "--http1.1", h2: "--http2" }.freeze
      HIDDEN = "#{Redaction::HIDDEN}:#{Redaction::HIDDEN}".freeze
      private_constant :VERSIONS, :HIDDEN

      # @param request [Request]
      # @param secrets [Boolean] whether the credentials of a proxy are shown
      def initialize(request, secrets:)
        @url = request.uri
        @builder = request.builder
        @options = @builder.options
        @secrets = secrets
      end

      # @return [Array<String>] arguments, not quoted
      def arguments = [*route_options, *(tls_options if @url.tls?), *version_option, *timeout_options]

      private

      def route_options
        proxy, host, port = @builder.route_with_proxy(@url)
        target = "#{@url.label}:#{Host.bracketed(host)}:#{port}"
        target = nil if [host, port] == [@url.host, @url.port]
        [*option("--unix-socket", @options.unix), *option("--interface", @options.bind&.values&.first),
         *option("--connect-to", target), *(proxy ? proxy_options(proxy) : without_proxy),
         *("--proxytunnel" if proxy && target)]
      end

      def proxy_options(proxy)
        user = @secrets ? proxy.credentials&.join(":") : proxy.credentials && HIDDEN
        ["--proxy", proxy.to_s, *option("--proxy-user", user)]
      end

      # With proxy: nil, curl reads the proxy from the environment, as Trunkline does.
      def without_proxy = @options.proxy.nil? && !@options.unix ? [] : ["--noproxy", "*"]

      def tls_options
        [*("--insecure" unless @options.verify), *option("--cacert", @options.ca_file),
         *option("--capath", @options.ca_path), *option("--cert", file(@options.client_cert)),
         *option("--key", file(@options.client_key)), *option("--ciphers", @options.ciphers)]
      end

      def file(value) = (value if value.is_a?(String) && File.file?(value))

      def version_option
        return ["--http2-prior-knowledge"] if @options.http == :h2 && !@url.tls?

        [*VERSIONS[@options.http]]
      end

      def timeout_options
        timeouts = @options.timeout&.explicit.to_h
        { "--connect-timeout" => timeouts[:connect], "--max-time" => timeouts[:total] }.compact
          .flat_map { |name, seconds| [name, format("%g", seconds)] }
      end

      def option(name, value) = value.nil? ? [] : [name, value.to_s]
    end
  end
end
