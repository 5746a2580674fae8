# frozen_string_literal: true

require_relative "../path_shape"

module Trunkline
  module Insight
    # An outgoing call that was watched. It holds neither the URL nor credentials. Frozen.
    #
    #   library      "Trunkline", "Net::HTTP" or "Faraday"
    #   method       "GET"
    #   host         "api.test", with the port unless it is the default of the scheme
    #   shape        "GET /users/:id", or the template: of the call
    #   identity     Integer, equal for calls that request the same thing; nil for methods that are not safe
    #   began        monotonic seconds
    #   ended        monotonic seconds
    #   opening      seconds for opening the connection; 0.0 on a reused connection; nil when unknown
    #   multiplexed  whether the connection carries several calls at once (HTTP/2)
    #   status       Integer; nil without a response
    #   error        name of the error's class; nil with a response
    #   timeout      the default limits when no timeout was set: "none", or "open 60 s, each read 60 s"; else nil
    #   transaction  whether the call was made inside a database transaction (ActiveRecord)
    #   place        "app/models/user.rb:31", the line in the caller's code
    # rubocop:disable Lint/StructNewOverride -- as Request#method
    Call = Struct.new(:library, :method, :host, :shape, :identity, :began, :ended, :opening, :multiplexed, :status,
                      :error, :timeout, :transaction, :place, keyword_init: true) do
      # rubocop:enable Lint/StructNewOverride
      # @param method [String]
      # @param origin [Array(String, String, Integer)] scheme, host and port
      # @param target [String] path and query
      # @param headers [#[]] of the request; the values of VARYING are part of the identity
      # @return [Hash{Symbol => Object}] members that describe a request
      # @api private
      def self.request(method, origin, target, headers: {}, template: nil)
        scheme, host, port = origin
        usual = scheme == "https" ? 443 : 80
        { method: method, host: port == usual ? host : "#{host}:#{port}",
          shape: "#{method} #{template || shape(target)}",
          identity: (identity(method, origin, target, headers) if Call::SAFE.include?(method)) }
      end

      # @return [Integer]
      def self.identity(method, origin, target, headers)
        [method, origin, target, *Call::VARYING.map { |name| headers[name] }].hash
      end
      private_class_method :identity

      # @return [String] path shape, and the names of the query's parameters without their values
      def self.shape(target)
        path, query = target.split("?", 2)
        names = query.to_s.scan(/(?:\A|&)([^=&]+)/).flatten.uniq.sort
        PathShape.of(path.to_s.empty? ? "/" : path) + (names.empty? ? "" : "?#{names.join("&")}")
      end
      private_class_method :shape

      def initialize(**)
        super
        freeze
      end

      # @return [Float] seconds
      def duration = ended - began

      # @return [Float] seconds that the call takes on an open connection
      def service = [duration - (opening || 0.0), 0.0].max

      # @return [Boolean] whether the call opened its connection
      def opened? = opening&.positive? || false
    end
    # Safe methods: two calls with the same URL request the same thing.
    Call::SAFE = %w[GET HEAD OPTIONS].freeze
    # Request header fields that may change the response.
    Call::VARYING = %w[authorization cookie range accept accept-language].freeze
  end
end
