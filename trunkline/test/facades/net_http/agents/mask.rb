# frozen_string_literal: true

module Agents
  # Removes from a report the values that differ between runs (ids, times, ports, memory addresses), and the messages of
  # exceptions that Trunkline words differently.
  class Mask
    RULES = {
      /\b\h{8}-\h{4}-\h{4}-\h{4}-\h{12}\b/ => "UUID", /0x\h{8,}/ => "ADDRESS",
      /\d{8}-\d+-[a-z0-9]{5,}/ => "TEMPORARY", %r{\beyJ[\w+/=]+} => "BASE64",
      /\b\d+\.\d{3,}(e-\d+)?/ => "TIME", /\b(?=\h*\d)\h{9,40}\b/ => "ID"
    }.freeze

    # @param ports [Array<Integer>]
    # @param messages [Array<String>]
    def initialize(ports, messages: [])
      @ports = ports
      texts = messages.uniq.reject(&:empty?).sort_by { |message| -message.size }
      port = /(?<!\d)(?:#{ports.join("|")})(?!\d)/
      @rules = { Regexp.union(*texts) => "MESSAGE", **RULES, port => "PORT" } # ports last: ids may contain their digits
    end

    # @param value [Object] a value that JSON can represent
    def call(value)
      case value
      when Hash then value.to_h { |key, inner| [text(key.to_s), call(inner)] }
      when Array then value.map { |inner| call(inner) }
      when String, Symbol then text(value.to_s)
      when Integer then @ports.include?(value) ? "PORT" : value
      when Float then "TIME"
      else value
      end
    end

    private

    def text(string)
      string = string.dup.force_encoding(Encoding::UTF_8).scrub
      @rules.reduce(string) { |masked, (pattern, replacement)| masked.gsub(pattern, replacement) }
    end
  end
end
