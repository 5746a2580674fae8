# frozen_string_literal: true

require "strscan"
require_relative "errors"
require_relative "redacted"

module Trunkline
  # The links of a Link header field (RFC 8288), in the order of the field.
  #
  #   response.links["next"]                       # "https://api.test/users?page=3", or nil
  #   response.links.map { |link| link.rels }
  class Links
    include Enumerable
    include Redacted # a URL may hold a token

    # One link. Frozen.
    #
    #   url      String, the URL of the target; absolute if it could be resolved
    #   rels     Array of relation types, in lower case
    #   params   Hash of parameters by name in lower case; the first if one is given twice; title* is stored as title
    Link = Struct.new(:url, :rels, :params) do
      include Redacted

      def initialize(*)
        super
        freeze
      end

      # @return [String] without userinfo and query
      def inspect = "#<#{self.class} #{shown}>"

      # @api private
      def shown = "#{rels.join(" ")}: #{url.scrub.sub(%r{//[^/?#]*@}, "//").sub(/\?.*/m, "?[hidden]")}"
    end

    TOKEN = /[!#$%&'*+\-.^_`|~0-9A-Za-z]+/
    QUOTED = /"((?:[^"\\]|\\.)*)"/m

    class << self
      # @param text [String, nil] the field's value; several values are joined by ","
      # @param base [URL] the URL against which relative references are resolved
      # @return [Links] the links before the first malformed link-value
      def parse(text, base)
        scanner = StringScanner.new(text.to_s)
        found = []
        while (link = link(scanner, base))
          found << link
        end
        new(found)
      end

      private

      # RFC 8288 3: link-value = "<" URI-Reference ">" *( OWS ";" OWS [ link-param ] )
      def link(scanner, base)
        scanner.skip(/[\s,]*/)
        reference = scanner.scan(/<[^>]*>/) or return
        params = {}
        while scanner.skip(/\s*;\s*/)
          name, value = param(scanner)
          params[name] ||= value if name
        end
        extended(params)
        Link.new(resolved(reference[1..-2], base), params.fetch("rel", "").downcase.split.freeze, params.freeze)
      end

      def param(scanner)
        name = scanner.scan(/#{TOKEN}\*?/o) or return
        return [name.downcase, ""] unless scanner.skip(/\s*=\s*/)

        value = scanner.scan(QUOTED) ? scanner[1].gsub(/\\(.)/m, '\1') : scanner.scan(/[^\s;,]*/)
        [name.downcase, value.freeze]
      end

      # RFC 8187: title*=UTF-8'en'%e2%82%ac is preferred to title.
      def extended(params)
        charset, _, text = params.delete("title*").to_s.split("'", 3)
        return unless charset&.casecmp?("utf-8") && text

        title = text.gsub(/%\h\h/) { |byte| byte[1..].hex.chr }.force_encoding(Encoding::UTF_8)
        params["title"] = title.freeze if title.valid_encoding?
      end

      def resolved(reference, base)
        base.follow(reference).to_s
      rescue InvalidRequest
        reference
      end
    end

    # @param links [Array<Link>]
    def initialize(links)
      @links = links.freeze
      freeze
    end

    # @yield [link] each Link
    # @return [self, Enumerator] an Enumerator without a block
    def each(&block)
      return enum_for(:each) unless block

      @links.each(&block)
      self
    end

    # @param rel [String, Symbol] a relation type, such as "next"
    # @return [String, nil] the URL of the first link with that relation type; nil if there is none. Links with an
    #   anchor are skipped, because they belong to another resource (RFC 8288 3.2)
    def [](rel)
      find { |link| link.rels.include?(rel.to_s.downcase) && !link.params.key?("anchor") }&.url
    end

    # @return [Boolean] whether there are no links
    def empty? = @links.empty?

    # @return [String] without userinfo and queries
    def inspect = "#<#{self.class} #{map(&:shown).join(", ")}>"
  end
end
