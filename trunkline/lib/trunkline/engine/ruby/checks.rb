# frozen_string_literal: true

module Trunkline
  module Engine
    module Ruby
      # Checks arguments of the engine's methods, and raises what the C engine raises for wrong ones.
      module Checks
        UINT_MAX = 0xffff_ffff
        private_constant :UINT_MAX

        module_function

        # @raise [TypeError] unless the value is of the class
        def instance(value, type)
          return if value.is_a?(type)

          raise TypeError, "wrong argument type #{described(value)} (expected #{type})"
        end

        # @return [Integer, nil]
        def integer_or_nil(value)
          return value if value.nil? || value.is_a?(Integer)
          raise TypeError, "no implicit conversion of #{described(value)} into Integer" unless value.is_a?(Float)

          value.to_i
        end

        # @return [Integer]
        def integer(value) = integer_or_nil(value) || raise(TypeError, "no implicit conversion from nil to integer")

        # @return [Integer]
        def count(value)
          count = integer(value)
          return count if count.between?(-UINT_MAX - 1, UINT_MAX)

          raise RangeError, "integer #{count} too big to convert to `unsigned int'"
        end

        # @raise [TypeError] unless the value is a number of seconds, or nil
        def seconds(value)
          return if value.nil? || value.is_a?(Numeric)

          raise TypeError, "no implicit conversion to float from #{described(value).to_s.downcase}"
        end

        # @return [String]
        def string(value)
          String.try_convert(value) || raise(TypeError, "no implicit conversion of #{described(value)} into String")
        end

        # Checks the arguments of a new exchange.
        def exchange(pool, request, deadline)
          instance(pool, Pool)
          instance(request, Request)
          pool.check
          raise ArgumentError, "the request was not composed" if request._head.nil?
          raise ArgumentError, "a request that no client has made cannot be sent" if request.origin.nil?

          seconds(deadline)
        end

        def described(value) = [nil, true, false].include?(value) ? value.inspect : value.class
      end
    end
  end
end
