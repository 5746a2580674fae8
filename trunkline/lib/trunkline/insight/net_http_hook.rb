# frozen_string_literal: true

require_relative "outgoing"

module Trunkline
  module Insight
    # Prepended to Net::HTTP, or to the class with which a test library has replaced it.
    #
    # @api private
    module NetHTTPHook
      # Default of Net::HTTP, in seconds.
      DEFAULT_TIMEOUT = 60

      # When the connection of a session was opened, how long that took, and how many calls this fiber had reported by
      # then.
      Opening = Struct.new(:began, :seconds, :reported)

      # Idempotent.
      # @return [void]
      def self.install
        return if @installed.equal?(::Net::HTTP)

        @installed = ::Net::HTTP
        ::Net::HTTP.prepend(self)
      end

      # @param http [Net::HTTP]
      # @return [String, nil] the default limits of its calls; nil when a timeout was set
      def self.timeout(http)
        open = http.open_timeout
        read = http.read_timeout
        return "none" if open.nil? && read.nil?
        return unless [open, read].all? { |seconds| seconds.nil? || seconds == DEFAULT_TIMEOUT }

        [("open #{open} s" if open), ("each read #{read} s" if read)].compact.join(", ")
      end

      # Net::HTTP#request calls itself after #start if the session was not started; only the outer call is watched.
      def request(req, body = nil, &block)
        return super if @trunkline_insight_inside || Insight.current.nil?

        begin
          @trunkline_insight_inside = true
          opening = @trunkline_insight_opening
          began = opening.began if opening && opening.reported == Outgoing.reported
          Outgoing.watch(->(response) { trunkline_insight_facts(req, response) }, **{ began: began }.compact) { super }
        ensure
          @trunkline_insight_inside = false
        end
      end

      private

      def connect
        return super unless Insight.current

        began = Engine.now
        super.tap { @trunkline_insight_opening = Opening.new(began, Engine.now - began, Outgoing.reported) }
      end

      def trunkline_insight_facts(req, response)
        opening = @trunkline_insight_opening
        @trunkline_insight_opening = nil
        { library: "Net::HTTP", status: response&.code&.to_i, opening: opening&.seconds || 0.0,
          timeout: NetHTTPHook.timeout(self),
          **Call.request(req.method, [use_ssl? ? "https" : "http", address, port], req.path,
                         headers: req) }
      end
    end
  end
end
