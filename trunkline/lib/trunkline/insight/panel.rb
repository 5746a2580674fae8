# frozen_string_literal: true

require "erb"

module Trunkline
  module Insight
    # An element at the end of an HTML page that lists the calls made for the page: a button in the corner opens the
    # list. It loads nothing, runs no script, and can be reached and opened with the keyboard. Where the page's
    # Content-Security-Policy forbids its style, it is shown as a list below the page.
    #
    # @api private
    class Panel
      include Redacted
      include ERB::Util

      # Number of calls listed, the slowest first.
      CALLS = 20
      # Larger pages are not changed.
      MOST_BYTES = 10_000_000
      TEMPLATE = ERB.new(File.read("#{__dir__}/panel.html.erb"), trim_mode: "-")
      private_constant :TEMPLATE

      class << self
        # @param response [Array] of a Rack application
        # @param report [Report]
        # @param env [Hash]
        # @return [Array] the response with the panel; without it unless the response is a complete HTML page
        def add(response, report, env)
          status, headers, body = response
          return response unless page?(status, headers) && body.respond_to?(:to_ary)

          parts = body.to_ary # to_ary also closes the body
          return response unless parts.is_a?(Array) # #to_ary of a Rails body may return an Enumerator, for example

          html = parts.join.b
          at = html.bytesize > MOST_BYTES ? nil : insert_position(html)
          panel = Instrument.guard(self) { new(report, nonce(env)).to_s.b } if at
          return [status, headers, [html]] unless panel

          html.insert(at, panel)
          [status, with_length(headers, html.bytesize), [html]]
        end

        private

        def page?(status, headers)
          fields = headers.to_h { |name, value| [name.to_s.downcase, value.to_s] }
          status.to_i == 200 && fields["content-type"].to_s.start_with?("text/html") &&
            fields.values_at("content-encoding", "content-disposition", "transfer-encoding").none?
        end

        # @return [Integer, nil] nil for a part of a page
        def insert_position(html)
          html.rindex(%r{</body\s*>}in) || html.rindex(%r{</html\s*>}in) ||
            (html.bytesize if html.match?(/\A(?:\xEF\xBB\xBF)?\s*<(?:!doctype|html)\b/in))
        end

        # Removes the fields that describe the page without the panel (validators and digests), and corrects the length.
        def with_length(headers, bytes)
          changed = headers.reject { |name, _| name.match?(/\A(?:content-length|etag|content-md5|digest)\z/i) }
          length = headers.find { |name, _| name.casecmp?("content-length") }
          length ? changed.merge(length.first => bytes.to_s) : changed
        end

        # @return [String, nil] the nonce that the page's Content-Security-Policy requires for styles (Rails)
        def nonce(env)
          ::ActionDispatch::Request.new(env).content_security_policy_nonce if defined?(::ActionDispatch::Request)
        end
      end

      # @param report [Report]
      # @param nonce [String, nil]
      def initialize(report, nonce = nil)
        @report = report
        @nonce = nonce
      end

      # @return [String] HTML
      def to_s = TEMPLATE.result(binding)

      private

      attr_reader :report, :nonce

      # @return [String] text of the button
      def label
        found = report.findings.size
        result = found.zero? ? "nothing to improve" : "#{found} finding#{"s" if found > 1}"
        "HTTP: #{report.summary}, #{result}"
      end

      def seconds(number) = Seconds.of(number)
    end
  end
end
