# frozen_string_literal: true

require_relative "../path_shape"

module Trunkline
  module Insight
    # An outgoing call that was seen. It keeps neither the URL nor credentials. Frozen.
    #
    #   library      "Trunkline", "Net::HTTP" or "Faraday"
    #   method       "GET"
    #   host         "api.test", with the port when it is not the scheme's
    #   shape        "GET /users/:id", or the template: of the call
    #   identity     Integer, the same for calls that ask the same again; nil for methods that are not safe
    #   began        monotonic seconds
    #   ended        monotonic seconds
    #   opening      seconds for opening its connection; 0.0 on one that was kept; nil when unknown
    #   multiplexed  whether its connection carries many calls at once (HTTP/2)
    #   status       Integer; nil without an answer
    #   error        name of the error's class; nil with an answer
    #   timeout      what bounds it when nobody has chosen a timeout: "none", or "open 60 s, each read 60 s"; else nil
    #   transaction  whether it was made inside a database transaction (ActiveRecord)
    #   place        "app/models/user.rb:31", the caller's
    # rubocop:disable Lint/StructNewOverride -- as Request#method
    Call = Struct.new(:library, :method, :host, :shape, :identity, :began, :ended, :opening, :multiplexed, :status,
                      :error, :timeout, :transaction, :place, keyword_init: true) do
      # rubocop:enable Lint/StructNewOverride
      # @param method [String]
      # @param origin [Array(String, String, Integer)] scheme, host and port
      # @param target [String] path and query
      # @param headers [#[]] of the request: with other values of VARYING, the same URL may have another answer
      # @return [Hash{Symbol => Object}] members that tell of a request
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

      # @return [String] of a query, the names alone
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

      # @return [Float] seconds that it takes on a connection that is open
      def service = [duration - (opening || 0.0), 0.0].max

      # @return [Boolean] whether it had to open its connection
      def opened? = opening&.positive? || false
    end
    # Methods that ask the same again when their URL is the same.
    Call::SAFE = %w[GET HEAD OPTIONS].freeze
    # Fields of a request that another answer is due to.
    Call::VARYING = %w[authorization cookie range accept accept-language].freeze
  end
end
