# frozen_string_literal: true

require_relative "redacted"

module Trunkline
  # A server's announcement that an endpoint is deprecated or will be removed. Frozen.
  #
  #   endpoint       "GET https://api.test/users/:id": path segments that look like identifiers are ":id"
  #   deprecated_at  Time of the deprecation (RFC 9745), past or future; nil when the server gave none
  #   sunset_at      Time after which the endpoint may stop working (RFC 8594); nil when the server gave none
  #   links          URLs of pages about it: the links with rel="sunset" or rel="deprecation"
  #   response       the Response with the announcement
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

    # Without the query, which may hold a token.
    def pages = links.map { |link| link[/\A[^?#]*/] }

    def since
      return unless deprecated_at

      " #{deprecated_at > Time.now ? "from" : "since"} #{deprecated_at.utc.iso8601}"
    end
  end
end
