# frozen_string_literal: true

require "strscan"
require_relative "errors"
require_relative "redacted"

module Trunkline
  # The links of a Link field (RFC 8288), in their order.
  #
  #   response.links["next"]                       # "https://api.test/users?page=3", or nil
  #   response.links.map { |link| link.rels }
  class Links
    include Enumerable
    include Redacted # a URL may hold a token

    # One link. Frozen.
    #
    #   url      of its target, absolute where it could be resolved
    #   rels     its relation types, down-cased
    #   params   its parameters by down-cased name; of one that is given twice the first; title* as title
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
      # @param base [URL] what relative references are resolved against
      # @return [Links] what can be read; a link-value that is none ends it
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

    # @yield [link]
    # @return [self, Enumerator]
    def each(&block)
      return enum_for(:each) unless block

      @links.each(&block)
      self
    end

    # @param rel [String, Symbol] a relation type, such as "next"
    # @return [String, nil] the URL of the first link of it; links with an anchor are another resource's (3.2)
    def [](rel)
      find { |link| link.rels.include?(rel.to_s.downcase) && !link.params.key?("anchor") }&.url
    end

    # @return [Boolean]
    def empty? = @links.empty?

    # @return [String] without userinfo and queries
    def inspect = "#<#{self.class} #{map(&:shown).join(", ")}>"
  end
end
