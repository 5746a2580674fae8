# frozen_string_literal: true

require_relative "../errors"

module Trunkline
  module Facades
    # Reads TLS versions and ciphers in the forms of OpenSSL::SSL::SSLContext, which Faraday and Net::HTTP take, for the
    # client options min_tls:, max_tls: and ciphers:.
    module SSLContextOptions
      NUMBERS = {
        "SSL3" => 0x0300, "TLS1" => 0x0301, "TLS1_1" => 0x0302, "TLS1_2" => 0x0303, "TLS1_3" => 0x0304
      }.freeze
      ANY = ["", "TLS", "SSL23", "0"].freeze
      ALLOWED = "such as :TLS1_2 or :TLS1_3"
      private_constant :NUMBERS, :ANY, :ALLOWED

      module_function

      # @param name [String] of the option, for errors
      # @param value [Symbol, String, Integer, nil] :TLS1_2, :TLSv1_2_client, OpenSSL::SSL::TLS1_2_VERSION...
      # @return [Integer, nil] the version's number in TLS; nil for any version
      # @raise [InvalidRequest] for a value that is no version
      def version(name, value)
        return value if NUMBERS.value?(value)

        text = value.to_s.upcase.sub(/_(?:CLIENT|SERVER)\z/, "").sub(/\A(TLS|SSL)V/, "\\1")
        NUMBERS.fetch(text) { ANY.include?(text) ? nil : raise(InvalidRequest.of(name, value, ALLOWED)) }
      end

      # A minimum below TLS 1.2 sets no min_tls:, because the engine never goes below TLS 1.2 (RFC 8996).
      #
      # @param options [Hash{Symbol => Object}] min_version: and max_version:; version: for either that is missing
      # @param prefix [String] of the options' names, for errors
      # @return [Hash{Symbol => String}] min_tls: and max_tls:, each only if it sets a bound
      # @raise [InvalidRequest] for a value that is no version, and for a maximum below TLS 1.2
      def versions(options, prefix = "")
        both = version("#{prefix}version", options[:version])
        lowest = version("#{prefix}min_version", options[:min_version]) || both
        highest = version("#{prefix}max_version", options[:max_version]) || both
        if highest && highest < NUMBERS["TLS1_2"]
          name = options[:max_version] ? :max_version : :version
          raise InvalidRequest.of("#{prefix}#{name}", options[name], "TLS 1.2 or 1.3 (RFC 8996)")
        end

        { min_tls: ("1.3" if lowest == NUMBERS["TLS1_3"]), max_tls: ("1.2" if highest == NUMBERS["TLS1_2"]) }.compact
      end

      # @param list [String, Array<String, Array>] a list in OpenSSL's format, names, or a result of SSLContext#ciphers
      # @return [String] a list in OpenSSL's format
      def ciphers(list)
        list.is_a?(Array) ? list.map { |one| Array(one).first.to_s }.join(":") : list.to_s
      end
    end
  end
end
