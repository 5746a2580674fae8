# frozen_string_literal: true

require_relative "redacted"

module Trunkline
  # What a server has said of an endpoint that is going away. Frozen.
  #
  #   endpoint       "GET https://api.test/users/:id": what looks like an identifier is ":id"
  #   deprecated_at  Time from which on it is deprecated (RFC 9745), which may be still to come; nil when none was told
  #   sunset_at      Time after which it may stop working (RFC 8594); nil when none was told
  #   links          URLs of pages about it, those of rel="sunset" and rel="deprecation"
  #   response       the Response that said so
  Deprecation = Struct.new(:endpoint, :deprecated_at, :sunset_at, :links, :response, keyword_init: true) do
    include Redacted

    def initialize(**facts)
      super
      freeze
    end

    # @return [String] a sentence for a log
    def message
      parts = [("is deprecated#{since}" if deprecated_at || sunset_at.nil?),
               ("may stop working after #{sunset_at.utc.iso8601}" if sunset_at)].compact
      "#{endpoint} #{parts.join(" and ")}#{" (see #{pages.join(", ")})" unless links.empty?}"
    end
    alias_method :to_s, :message

    private

    # A query may hold a token.
    def pages = links.map { |link| link[/\A[^?#]*/] }

    def since
      return unless deprecated_at

      " #{deprecated_at > Time.now ? "from" : "since"} #{deprecated_at.utc.iso8601}"
    end
  end
end
