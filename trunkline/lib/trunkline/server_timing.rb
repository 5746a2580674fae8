# frozen_string_literal: true

require "strscan"

module Trunkline
  # What a server says of its own times, one metric of Server-Timing (W3C Server Timing). Frozen.
  #
  #   name         String, as sent
  #   duration     seconds, as all times here (the field has milliseconds); nil when it says none, or no number from 0
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
      # Servers send what they like: what is not a metric is left out, up to the next comma; of a parameter that is
      # given twice, the first counts.
      #
      # @param value [String, nil] of the field
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
        given = {}
        while scanner.skip(/[ \t]*;[ \t]*/)
          name = scanner.scan(TOKEN)&.downcase
          scanner.skip(SPACE)
          value = scanner.skip(/=/) ? value_of(scanner) : ""
          given[name] ||= value if name
          scanner.skip(/[^;,"]*/) # what is no part of a parameter
        end
        given
      end

      def value_of(scanner)
        scanner.skip(SPACE)
        quoted = scanner.scan(QUOTED) or return scanner.scan(TOKEN) || ""
        quoted[1..].gsub(/\\(.)|"/m) { Regexp.last_match(1) }
      end

      def of(name, given)
        duration = given["dur"].to_s
        new(name, ((duration.to_r / 1000).to_f if NUMBER.match?(duration)), given.fetch("desc", ""))
      end
    end
  end
end
