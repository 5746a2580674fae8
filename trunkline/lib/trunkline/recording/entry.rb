# frozen_string_literal: true

require "time"
require_relative "../body_text"
require_relative "../percent"
require_relative "../redacted"
require_relative "../redaction"

module Trunkline
  class Recording
    # Converts an attempt to an entry of HAR 1.2. Credentials are hidden (see Redaction).
    #
    # @api private
    class Entry
      include Redacted

      PAGE = "page_1"
      # The maximum number of bytes of a body that are kept.
      MAX_BODY_BYTES = 65_536
      # HAR's value for a number that is unknown, or of a phase that did not happen.
      NONE = -1

      # @param time [Time]
      # @return [String] ISO 8601, with milliseconds
      def self.time(time) = time.iso8601(3)

      # @param began [Time]
      # @param record [Policy::Log::ExchangeRecord]
      def initialize(began, record)
        @began = began
        @record = record
        @request = record.request
        @response = record.result if record.result.is_a?(Response)
        @redaction = Redaction.of(@request)
      end

      # @return [Hash{Symbol => Object}]
      def to_h
        times = timings
        total = times.except(:ssl, :_gvl).values.reject(&:negative?).sum.round(3)
        { pageref: PAGE, startedDateTime: Entry.time(@began), time: total, _resourceType: "fetch",
          request: request, response: @response ? response : failure, cache: {}, timings: times, **connection }
      end

      private

      def request
        url = @redaction.url(@request.url)
        { method: @request.method, url: url, httpVersion: version, cookies: cookies(@request.headers, "cookie", /;\s*/),
          headers: fields(@request.headers), queryString: query(url), **content_sent, headersSize: NONE,
          bodySize: @request.content? ? @request.content_length : 0 }
      end

      def response
        { status: @response.status, statusText: text(@response.reason), httpVersion: version,
          cookies: cookies(@response.headers, "set-cookie", nil), headers: fields(@response.headers),
          content: content_received, redirectURL: @redaction.url(@response["location"] || ""), headersSize: NONE,
          bodySize: size_received, _transferSize: size_received }
      end

      # Bytes of the body as received, before it was decoded.
      def size_received
        return NONE if @response.request.streaming?
        return 0 if @response.body.empty?
        return @response["content-length"].to_i if @response["content-length"]

        @response["content-encoding"] ? NONE : @response.body.bytesize
      end

      # As in browsers, a request without a response has the status 0.
      def failure
        error = @record.result
        { status: 0, statusText: "", httpVersion: "", cookies: [], headers: [],
          content: { size: 0, mimeType: "x-unknown" }, redirectURL: "", headersSize: NONE, bodySize: NONE,
          _error: error ? text("#{error.class}: #{error.message}") : "Cancelled" }
      end

      def version = @response ? "HTTP/#{@response.http_version}" : ""

      def cookies(headers, name, between)
        headers.get_all(name).flat_map { |value| between ? value.split(between) : [value] }.map do |one|
          { name: text(one[/\A[^=;]*/]), value: Redaction::HIDDEN }
        end
      end

      def fields(headers)
        @redaction.fields(headers).map { |name, value| { name: text(name), value: text(value) } }
      end

      def query(url)
        url.split("?", 2)[1].to_s.split("&").map do |pair|
          name, value = pair.split("=", 2).map { |part| text(Percent.decode(part.tr("+", " "))) }
          { name: name || "", value: value || "" }
        end
      end

      def content_sent
        return {} unless @request.content?

        type = @request.headers["content-type"]
        { postData: { mimeType: type || "", **body_text(@request.body_string, type) } }
      end

      def content_received
        body = @response.body unless @response.request.streaming?
        type = @response["content-type"]
        { size: body ? body.bytesize : 0, mimeType: type ? text(type) : "x-unknown", **body_text(body, type) }
      end

      # @param body [String, nil] nil if the body is streamed
      def body_text(body, type)
        return { text: "", comment: "streamed: not kept" } if body.nil?

        text = BodyText.of(body, MAX_BODY_BYTES)
        return { text: "", comment: "#{body.bytesize} bytes that are no text" } if text.nil?

        cut = { comment: "the first #{MAX_BODY_BYTES} of #{body.bytesize} bytes" } if body.bytesize > MAX_BODY_BYTES
        { text: @redaction.body(text, type), **cut.to_h }
      end

      # In milliseconds; connect includes ssl.
      def timings
        return { send: 0, wait: ms(@record.ended - @record.began), receive: 0 } unless @response

        times = @response.timings
        phases = phases(times)
        rest = times.total ? [times.total - phases.values.compact.sum, 0].max : 0
        { **phases.merge(receive: rest, ssl: times.tls).transform_values { |seconds| seconds ? ms(seconds) : NONE },
          **(times.gvl ? { _gvl: ms(times.gvl) } : {}) }
      end

      def phases(times)
        opening = [times.connect, times.tls].compact
        { blocked: times.queue, dns: times.resolve, connect: (opening.sum unless opening.empty?),
          send: times.write || 0, wait: times.first_byte || 0 }
      end

      # As in browsers, `connection` is the server's port; _connectionId, which HAR does not define, is the connection's
      # number.
      def connection
        info = @response&.connection
        address, port = info&.address.to_s.match(/\A\[?([\h.:]+?)\]?:(\d+)\z/)&.captures
        { serverIPAddress: address, connection: port, _connectionId: info&.id&.to_s }.compact
      end

      def ms(seconds) = (seconds * 1000).round(3)

      def text(value) = value.dup.force_encoding(Encoding::UTF_8).scrub
    end
  end
end
