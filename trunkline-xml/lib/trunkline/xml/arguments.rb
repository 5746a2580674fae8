# frozen_string_literal: true

module Trunkline
  module XML
    # Interprets the arguments of a tag.
    # @api private
    module Arguments
      module_function

      # @param args [Array<Object>] without the name
      # @yieldreturn [Boolean] whether a nil argument means the attribute nil="true"; called for each nil
      # @return [Array(String, Hash)] the texts in one String and the attributes in one Hash, or nil where none is given
      def gather(args)
        text = attributes = nil
        args.each do |arg|
          if ::Hash === arg
            attributes = (attributes || {}).merge!(arg)
          elsif nil.equal?(arg)
            attributes ||= {}
            attributes[:nil] = true if yield
          else
            text = (text || "".dup) << arg.to_s
          end
        end
        [text, attributes]
      end
    end
  end
end
