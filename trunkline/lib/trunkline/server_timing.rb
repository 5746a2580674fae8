# frozen_string_literal: true

require "strscan"

module Trunkline
  # One metric of the header field Server-Timing (W3C Server Timing), in which a server reports its own times. Frozen.
  #
  #   name         String, as sent
  #   duration     seconds (the field has milliseconds); nil when the metric has none, or no valid number from 0
  #   description  String, "" when there is none
  class ServerTiming < Struct.new(:name, :duration, :description)
    TOKEN = /[!#$%&'*+\-.^_`|~0-9A-Za-z]+/
    QUOTED = /"(?:[^"\\]|\\.)*(?:"|\\?\z)/m
    SPACE = /[ \t]*/
    NUMBER = /\A\+?(?:\d{1,18}(?:\.\d{0,18})?|\.\d{1,18})(?:e[+-]?\d{1,2})?\z/i
    REST = /(?:#{QUOTED.source}|[^,"])*/m
    private_constant :TOKEN, :QUOTED, :SPACE, :NUMBER, :REST

    def initialize(*)
      super
      freeze
    end

    class << self
      # Parses leniently: text that is not a metric is skipped up to the next comma. If a parameter is given twice, the
      # first one is used.
      #
      # @param value [String, nil] the value of the field
      # @return [Array<ServerTiming>]
      # @api private
      def parse(value)
        scanner = StringScanner.new(value.to_s.dup.force_encoding(Encoding::UTF_8).scrub)
        found = []
        until scanner.eos?
          scanner.skip(/[ \t,]+/)
          name = scanner.scan(TOKEN)
          found << of(name, parameters(scanner)) if name
          scanner.skip(REST)
        end
        found.freeze
      end

      private

      def parameters(scanner)
        parameters = {}
        while scanner.skip(/[ \t]*;[ \t]*/)
          name = scanner.scan(TOKEN)&.downcase
          scanner.skip(SPACE)
          value = scanner.skip(/=/) ? value_of(scanner) : ""
          parameters[name] ||= value if name
          scanner.skip(/[^;,"]*/) # text that is not part of a parameter
        end
        parameters
      end

      def value_of(scanner)
        scanner.skip(SPACE)
        quoted = scanner.scan(QUOTED) or return scanner.scan(TOKEN) || ""
        quoted[1..].gsub(/\\(.)|"/m) { Regexp.last_match(1) }
      end

      def of(name, parameters)
        duration = parameters["dur"].to_s
        new(name, ((duration.to_r / 1000).to_f if NUMBER.match?(duration)), parameters.fetch("desc", ""))
      end
    end
  end
end
