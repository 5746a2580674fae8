# frozen_string_literal: true

module Trunkline
  module Policy
    class Cache
      # Reads a Range field (RFC 9110 14.2).
      #
      # @api private
      module ByteRange
        SINGLE = /\Abytes=(\d*)-(\d*)\z/i
        private_constant :SINGLE

        # @param field [String]
        # @param size [Integer] bytes of the whole body
        # @return [Range<Integer>, nil] positions within the body; nil for several ranges, or for one that is invalid or
        #   outside of the body
        def self.of(field, size)
          first, last = SINGLE.match(field.delete(" \t"))&.captures
          return if first.nil? || (first.empty? && last.empty?)
          return suffix(last.to_i, size) if first.empty?

          first = first.to_i
          last = last.empty? ? size - 1 : [last.to_i, size - 1].min
          first..last if first <= last
        end

        def self.suffix(count, size)
          ([size - count, 0].max..(size - 1)) if count.positive? && size.positive?
        end
        private_class_method :suffix
      end
    end
  end
end
