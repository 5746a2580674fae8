# frozen_string_literal: true

require_relative "headers"
require_relative "percent"
require_relative "redacted"
require_relative "redaction/json"
require_relative "redaction/parts"
require_relative "redaction/xml"

module Trunkline
  # Replaces credentials in text that is logged or displayed: values of header fields, of a query and a form, of JSON,
  # XML and multipart bodies. A value is hidden when its name matches SECRET or is in the client's redact:. Frozen.
  #
  # @api private
  class Redaction
    include Redacted

    # Names of values that are credentials.
    SECRET = /auth|cookie|key|token|secret|passw|pwd|credential|session|signature|\Asig\z/i
    # Header fields whose values are URLs.
    LINKS = %w[location content-location referer].freeze
    HIDDEN = Redacted::HIDDEN
    private_constant :LINKS

    # @param request [Request]
    # @return [Redaction] the redaction of the client that made the request; DEFAULT without a client
    def self.of(request) = request.builder&.redaction || DEFAULT

    # @param names [Array<String>] names from redact:; whole names are compared, without case, and "-" equals "_"
    def initialize(names = [])
      @marked = names.to_h { |name| [plain(name), true] }.freeze
      freeze
    end

    DEFAULT = new

    # @param name [String] the name of a header field, a parameter ("user[pin]") or a member of JSON
    # @return [Boolean] whether the value of that name is hidden
    def hides?(name)
      SECRET.match?(name) || marked?(name)
    end

    # @param pairs [Enumerable<Array(String, String)>] header fields
    # @return [Array<Array(String, String)>] the fields, with values hidden that may be credentials (see
    #   Headers.hidden?)
    def fields(pairs)
      pairs.map do |name, value|
        if LINKS.include?(name.downcase) then [name, url(value)]
        else [name, Headers.hidden?(name) || marked?(name) ? HIDDEN : value]
        end
      end
    end

    # @param text [String] a URL, absolute or not
    # @return [String] the URL without its fragment; its userinfo and the credentials in its query are hidden
    def url(text)
      base, mark, query = valid(text).sub(/#.*/m, "").partition("?")
      base = base.sub(%r{\A([^/]*//)?[^/]*@}) { "#{Regexp.last_match(1)}#{HIDDEN}@" }
      "#{base}#{mark}#{form(query)}"
    end

    # @param text [String] a query, or a body of application/x-www-form-urlencoded
    # @return [String]
    def form(text)
      text.gsub(/([^&;=]++)(?:=([^&;]*))?/) do |all| # ++ and ?: in a long text without "=", no part is read again
        name, value = Regexp.last_match.captures
        next all unless value
        next "#{name}=#{HIDDEN}" if hides?(decoded(name))

        value.match?(/\A(?:[{\[]|%[57]B)/i) ? "#{name}=#{document(value)}" : all
      end
    end

    # @param text [String] JSON, which may be cut off at its end; or several documents
    # @return [String]
    def json(text) = JSON.new(self, text).redacted

    # @param text [String] XML, which may be cut off at its end
    # @return [String]
    def xml(text) = XML.new(self, text).redacted

    # @param text [String] a body, which may be cut off at its end
    # @param type [String, nil] the value of its Content-Type
    # @return [String]
    def body(text, type)
      case type
      when %r{\Aapplication/x-www-form-urlencoded}i then form(text)
      when %r{\Amultipart/}i then Parts.new(self, text, type).redacted
      when /xml/i then xml(text)
      when %r{json|\Atext/event-stream}i then json(text)
      else unnamed(text, type)
      end
    end

    private

    # Guesses the format from the beginning of the text.
    def unnamed(text, type)
      case text
      when /\A[\uFEFF\s]*[{\[]/ then json(text)
      when /\A[^\s=&<>"]+=\S*\z/ then type ? text : form(text)
      else text
      end
    end

    def marked?(name)
      return false if @marked.empty?

      @marked.key?(plain(name)) || name.split(/[\[\].]+/).any? { |part| @marked.key?(plain(part)) }
    end

    # @param value [String] the percent-encoded value of a parameter, which seems to be JSON
    def document(value)
      text = decoded(value)
      redacted = json(text)
      redacted == text ? value : Percent.form(redacted)
    end

    def plain(name) = name.to_s.downcase.tr("-", "_")

    def decoded(name) = valid(Percent.decode(name.tr("+", " ")))

    def valid(text)
      text = text.dup.force_encoding(Encoding::UTF_8) if text.encoding == Encoding::BINARY
      text.scrub
    end
  end
end
