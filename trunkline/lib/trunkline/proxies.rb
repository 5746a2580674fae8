# frozen_string_literal: true

require_relative "no_proxy"
require_relative "proxy"
require_relative "redacted"

module Trunkline
  # Selects the proxy for a URL: the one that proxy: names, none (proxy: false), or one from the environment variables
  # http_proxy, https_proxy, all_proxy and no_proxy, in lower or upper case. HTTP_PROXY in upper case is not read if
  # REQUEST_METHOD is set: in a CGI program, any client can set it by a Proxy header field.
  class Proxies
    include Redacted

    # @param chosen [Proxy, false, nil] the value of proxy:; nil: the proxies of the environment
    # @param environment [Hash, ENV] read here only; later changes have no effect
    # @param no_proxy [String, nil] hosts that are reached without a proxy (see NoProxy); nil: with the proxies of the
    #   environment, its no_proxy
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
    # @raise [InvalidRequest] when the value of the environment variable is not a valid proxy
    def for(url)
      return @chosen && !@no_proxy.direct?(url.host, url.port) ? @chosen : nil unless @chosen.nil?

      name, value = @by_scheme[url.scheme]
      return if name.nil? || @no_proxy.direct?(url.host, url.port)

      Proxy.parse(value.include?("://") ? value : "http://#{value}", name)
    end

    # @return [Boolean] whether requests to http URLs may be sent to a proxy itself, instead of through a tunnel
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

    # An environment variable has the encoding of the locale, in which its bytes may be invalid.
    def text(value) = value.to_s.dup.force_encoding(Encoding::UTF_8).scrub.strip
  end
end
