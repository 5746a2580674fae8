# frozen_string_literal: true

require_relative "outgoing"

module Trunkline
  module Insight
    # Prepended to Net::HTTP, and to the class that a test library has put in its place.
    #
    # @api private
    module NetHTTPHook
      # Net::HTTP's own, in seconds.
      DEFAULT_TIMEOUT = 60

      # When the connection of a session was opened, and how many calls had been told of then.
      Opening = Struct.new(:began, :seconds, :told)

      # Idempotent.
      # @return [void]
      def self.install
        return if @installed.equal?(::Net::HTTP)

        @installed = ::Net::HTTP
        ::Net::HTTP.prepend(self)
      end

      # @param http [Net::HTTP]
      # @return [String, nil] what bounds its calls when nobody has chosen a timeout
      def self.timeout(http)
        open = http.open_timeout
        read = http.read_timeout
        return "none" if open.nil? && read.nil?
        return unless [open, read].all? { |seconds| seconds.nil? || seconds == DEFAULT_TIMEOUT }

        [("open #{open} s" if open), ("each read #{read} s" if read)].compact.join(", ")
      end

      # Without #start it calls itself, once it is started.
      def request(req, body = nil, &block)
        return super if @trunkline_insight_inside || Insight.current.nil?

        begin
          @trunkline_insight_inside = true
          opening = @trunkline_insight_opening
          began = opening.began if opening && opening.told == Outgoing.told
          Outgoing.watch(->(answer) { trunkline_insight_facts(req, answer) }, **{ began: began }.compact) { super }
        ensure
          @trunkline_insight_inside = false
        end
      end

      private

      def connect
        return super unless Insight.current

        began = Engine.now
        super.tap { @trunkline_insight_opening = Opening.new(began, Engine.now - began, Outgoing.told) }
      end

      def trunkline_insight_facts(req, answer)
        opening = @trunkline_insight_opening
        @trunkline_insight_opening = nil
        { library: "Net::HTTP", status: answer&.code&.to_i, opening: opening&.seconds || 0.0,
          timeout: NetHTTPHook.timeout(self),
          **Call.request(req.method, [use_ssl? ? "https" : "http", address, port], req.path,
                         headers: req) }
      end
    end
  end
end
