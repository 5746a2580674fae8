# frozen_string_literal: true

require "strscan"
require_relative "../../redacted"

module Trunkline
  module Policy
    class Auth # rubocop:disable Style/Documentation -- see policy/auth.rb
      TOKEN = /[!#$%&'*+\-.^`|~\w]+/
      SCHEME = /#{TOKEN}(?=[\s,]|\z)/
      PARAMETER = /(#{TOKEN})[ \t]*=[ \t]*(?:"((?:[^"\\]|\\.)*)"|([^\s,"=]*))(?=[\s,]|\z)/m
      TOKEN68 = %r{[ \t]+[A-Za-z0-9\-._~+/]+=*(?=[ \t]*(?:,|\z))}
      private_constant :TOKEN, :SCHEME, :PARAMETER, :TOKEN68

      # One challenge of a WWW-Authenticate field (RFC 9110 11.6.1): its scheme and its parameters. The scheme and the
      # names of parameters are in lower case.
      Challenge = Struct.new(:scheme, :parameters) do
        include Redacted

        # @param values [Array<String>] of all WWW-Authenticate fields
        # @return [Array<Challenge>] those that can be parsed; Strings are binary, since the field has no declared
        #   encoding
        def self.parse(values)
          values.flat_map { |value| read(StringScanner.new(value.b)) }
        end

        def self.read(scanner)
          found = []
          until scanner.eos?
            scanner.skip(/[\s,]+/)
            if scanner.scan(PARAMETER)
              found.last&.parameters&.store(scanner[1].downcase, scanner[2]&.gsub(/\\(.)/m, "\\1") || scanner[3])
            elsif (scheme = scanner.scan(SCHEME))
              found << new(scheme.downcase, {})
              scanner.skip(TOKEN68)
            else
              scanner.skip(/[^,]+/)
            end
          end
          found
        end
        private_class_method :read
      end
    end
  end
end
