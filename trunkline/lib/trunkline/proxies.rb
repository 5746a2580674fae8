# frozen_string_literal: true

require_relative "no_proxy"
require_relative "proxy"
require_relative "redacted"

module Trunkline
  # Which proxy a URL goes through: the one that proxy: names, none (proxy: false), or what the environment says:
  # http_proxy, https_proxy, all_proxy and no_proxy, in lower or upper case. HTTP_PROXY in upper case is not read where
  # REQUEST_METHOD is set: in a CGI program any client can set it, by a Proxy header field.
  class Proxies
    include Redacted

    # @param chosen [Proxy, false, nil] nil: the environment's
    # @param environment [Hash, ENV] read at once, and never again
    # @param no_proxy [String, nil] hosts that no proxy is for; nil: the environment's, for the environment's proxies
    def initialize(chosen, environment = ENV, no_proxy: nil)
      @chosen = chosen
      @no_proxy = NoProxy.new(no_proxy, loopback: chosen.nil?)
      return unless chosen.nil?

      all = variable(environment, "all_proxy")
      @by_scheme = { "http" => variable(environment, "http_proxy") || all,
                     "https" => variable(environment, "https_proxy") || all }.freeze
      @no_proxy = NoProxy.new(variable(environment, "no_proxy")&.last) if no_proxy.nil?
    end

    # @param url [URL]
    # @return [Proxy, nil]
    # @raise [InvalidRequest] when the environment names something that is no proxy
    def for(url)
      return @chosen && !@no_proxy.direct?(url.host, url.port) ? @chosen : nil unless @chosen.nil?

      name, value = @by_scheme[url.scheme]
      return if name.nil? || @no_proxy.direct?(url.host, url.port)

      Proxy.parse(value.include?("://") ? value : "http://#{value}", name)
    end

    # @return [Boolean] whether a plain http request may be sent to a proxy itself
    def forward?
      return !@by_scheme["http"].nil? if @chosen.nil?

      @chosen ? @chosen.forwards? : false
    end

    private

    # @return [Array(String, String), nil] the variable's name and value
    def variable(environment, name)
      names = [name, name.upcase]
      names.pop if name == "http_proxy" && environment["REQUEST_METHOD"]
      names.map { |one| [one, text(environment[one])] }.find { |_, value| !value.empty? }
    end

    # Its encoding is that of the locale, which its bytes may break.
    def text(value) = value.to_s.dup.force_encoding(Encoding::UTF_8).scrub.strip
  end
end
