# frozen_string_literal: true

require "ipaddr"
require_relative "../errors"
require_relative "../policy/policy_options"

module Trunkline
  class Options
    # Checks egress:. The engine applies the rules when it connects (docs/egress.md).
    #
    # @api private
    module Egress
      # Host names are refused: a rule must restrict the address that a connection is made to.
      NETWORKS = Policy::PolicyOptions::Check.new(
        'an Array of networks such as "10.1.0.0/16", "192.0.2.7", "fd00::/8" (no host names, no bits beyond the mask)',
        ->(value) { value.map { |one| Egress.network(one) || break }&.freeze if value.is_a?(Array) }
      )
      PORTS = Policy::PolicyOptions::Check.new("an Array of ports from 1 to 65535", lambda do |value|
        value.dup.freeze if value.is_a?(Array) && value.all? { |one| one.is_a?(Integer) && one.between?(1, 65_535) }
      end)
      BOOLEAN = Policy::PolicyOptions.boolean
      OPTIONS = Policy::PolicyOptions.new(:egress, allow: [[].freeze, NETWORKS], deny: [[].freeze, NETWORKS],
                                                   ports: [[].freeze, PORTS],
                                                   unix: [false, BOOLEAN], proxy: [false, BOOLEAN])
      private_constant :NETWORKS, :PORTS, :BOOLEAN

      module_function

      # @param value [:public, Hash, false]
      # @return [Hash, nil] the value of every option; nil for no rule
      # @raise [InvalidRequest]
      def of(value)
        case value
        when false then nil
        when :public then OPTIONS.read(true)
        when Hash then OPTIONS.read(value).freeze
        else raise InvalidRequest.of("egress", value, ":public, false, or a Hash of #{OPTIONS.names.join(", ")}")
        end
      end

      # @param value [String, IPAddr]
      # @return [String, nil] "10.0.0.0/8"; nil when it is no network, or its address is not the network's first
      def network(value)
        range = value.is_a?(String) ? IPAddr.new(value) : value
        return unless range.is_a?(IPAddr) && !range.to_s.include?("%")
        return if value.is_a?(String) && IPAddr.new(value[%r{\A[^/]+}]).to_i != range.to_i

        "#{range}/#{range.prefix}".freeze
      rescue IPAddr::Error
        nil
      end
    end
  end
end
