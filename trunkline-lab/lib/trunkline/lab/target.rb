# frozen_string_literal: true

require "digest"
require "json"
require "trunkline"
require "uri"
require_relative "origins/nginx"
require_relative "origins/puma"
require_relative "secrets"

module Trunkline
  module Lab
    # The target of calls: a URL of the user, or one of the lab's servers by name.
    class Target
      # Name => path, path that answers POSTs of JSON with JSON, and description for the user.
      BUILT_IN = {
        "short" => [Origins::SHORT, Origins::ORDERS, "133 bytes"],
        "medium" => [Origins::MEDIUM, Origins::ORDERS, "13,801 bytes"],
        "slow" => [Origins::SLOW, Origins::SLOW_ORDERS, "133 bytes after 10 ms"],
        "workers" => ["/", "/", "8 workers that take 20 ms each, a queue of 32, then 429"]
      }.freeze
      BODIES = { Origins::SHORT => Origins::SHORT_BODY, Origins::MEDIUM => Origins::MEDIUM_BODY,
                 Origins::SLOW => Origins::SHORT_BODY, "/" => Origins::SHORT_BODY }.freeze
      OWN_MACHINE = /\A(localhost|127\.\d+\.\d+\.\d+|\[?::1\]?)\z/
      # Limits for a server of somebody else, without --i-own-this-server.
      MOST_IN_FLIGHT = 20
      MOST_REQUESTS = 2_000
      MOST_A_SECOND = 100

      attr_reader :base, :path, :ca_file, :title

      # @return [Hash] header fields made of the URL's user and password
      attr_reader :headers

      # @param place [String] a URL or a name in BUILT_IN
      # @param port [Symbol] for a built-in server: :plain, :tls or :http2 (over TLS)
      # @yield [target]
      # @raise [Stop]
      def self.open(place, ca_file: nil, port: :plain, &block)
        return yield(parse(place, ca_file: ca_file)) unless BUILT_IN.key?(place)

        with_origin(place) do |origin|
          path, json_path, title = BUILT_IN.fetch(place)
          yield new(origin.public_send(port), path, json_path: json_path, ca_file: origin.ca_file, origin: origin,
                                                    title: "#{title}, from #{origin.name} on this machine")
        end
      end

      def self.with_origin(place, &block)
        return Origins::Puma.open(app: "workers", threads: 64, &block) if place == "workers"

        (Origins::Nginx.available? ? Origins::Nginx : Origins::Puma).open(&block)
      end

      # @raise [Stop] unless the text is an http or https URL
      def self.parse(text, ca_file: nil)
        uri = URI.parse(text)
        unless uri.is_a?(URI::HTTP) && uri.host && !uri.host.empty?
          raise Stop.new("#{Secrets.hide(text).inspect} is not a URL: give http://... or https://..., or one of " \
                         "#{BUILT_IN.keys.join(", ")}", USAGE)
        end

        port = ":#{uri.port}" unless uri.port == uri.default_port
        new("#{uri.scheme}://#{uri.host}#{port}", uri.request_uri, ca_file: ca_file, title: Secrets.hide(text),
                                                                   headers: credentials(uri))
      rescue URI::InvalidURIError
        raise Stop.new("#{Secrets.hide(text).inspect} is not a URL", USAGE)
      end

      # @return [Hash] Authorization field (RFC 7617), for clients that do not use the URL's user and password
      def self.credentials(uri)
        return {} if uri.userinfo.nil?

        user, password = uri.userinfo.split(":", 2).map { |part| part.gsub(/%\h\h/) { |byte| byte[1, 2].hex.chr } }
        { "Authorization" => "Basic #{["#{user}:#{password}"].pack("m0")}" }
      end
      private_class_method :credentials

      # @return [String] the path for POSTs of JSON
      attr_reader :json_path

      def initialize(base, path, ca_file:, title:, json_path: path, origin: nil, headers: {})
        @base = base
        @path = path
        @json_path = json_path
        @ca_file = ca_file
        @title = title
        @origin = origin
        @headers = headers
      end

      def url = "#{base}#{path}"
      def uri = @uri ||= URI(url)

      # Whether the target is one of the lab's servers.
      def built_in? = !@origin.nil?

      # @param kind [String] one of Calls::KINDS
      # @return [String, nil] digest of the expected body of such a call; nil when it is unknown
      def digest(kind)
        return unless built_in?

        Digest::SHA256.hexdigest(kind == "json" ? Origins::ORDERS_BODY : BODIES.fetch(path))
      end

      # Whether the server may belong to somebody else.
      def foreign? = !OWN_MACHINE.match?(uri.host)

      # @return [Integer, nil] connections opened while the block ran; nil when the server does not count them
      def connections(&block)
        return yield && nil unless @origin

        @origin.connections(&block)
      end

      # @param kind [String] one of Calls::KINDS
      # @return [String] the title, with the body that such a call is answered with
      def title_of(kind)
        return title unless built_in? && kind == "json"

        title.sub(/\A[\d,]+ bytes/, "#{Origins::ORDERS_BODY.bytesize} bytes of JSON")
      end

      # Makes one call before the measurement.
      # @return [Trunkline::Response]
      # @raise [Stop] with a sentence for the user
      def probe(call, timeout:, insecure: false, http: nil)
        options = { ca_file: ca_file, verify: insecure ? false : nil, http: http&.to_sym }.compact
        client = Trunkline.new(base, timeout: timeout, **options)
        request_path = call[:path] || path
        response = client.request(call[:verb], request_path, headers: call[:headers], body: call[:body])
        return response if response.status < 400

        raise Stop, "#{call[:verb]} #{base}#{request_path} got a response of #{response.status} #{response.reason}: " \
                    "nothing was measured"
      rescue Trunkline::Error => error
        raise Stop, error.message
      rescue Trunkline::InvalidRequest => error
        raise Stop.new(error.message, USAGE)
      ensure
        client&.close
      end
    end
  end
end
