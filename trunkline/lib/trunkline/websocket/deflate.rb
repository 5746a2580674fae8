# frozen_string_literal: true

require "zlib"

module Trunkline
  module WebSocket
    # permessage-deflate (RFC 7692) for one WebSocket, as an extension for the gem websocket-extensions. The gem
    # permessage_deflate inflates a whole message, however large; this class stops once the limit is exceeded.
    #
    # @api private
    class Deflate
      WINDOW = 15
      # The end of each message's last block, an empty one: these bytes are not sent (RFC 7692 7.2.1).
      TAIL = "\x00\x00\xFF\xFF".b.freeze
      # Bytes that are passed to zlib at once. JRuby's zlib yields all output for them as one String: less than 2 MiB
      # for 1024 bytes.
      INPUT = RUBY_ENGINE == "jruby" ? 1024 : 64 * 1024
      FLAGS = %w[server_no_context_takeover client_no_context_takeover].freeze
      # Parameters that the server may request for the client's side. JRuby's Zlib cannot deflate with a smaller window,
      # and warns about it: the parameter is not offered there, so the server must not request it (RFC 7692 7.1.2.2).
      OFFER = (RUBY_ENGINE == "jruby" ? {} : { "client_max_window_bits" => true }).freeze
      BITS = ["server_max_window_bits", *OFFER.keys].freeze

      # @param limit [Integer] maximum bytes of an inflated message
      def initialize(limit)
        @limit = limit
      end

      # The interface that websocket-extensions requires of an extension and of its session.
      # rubocop:disable Naming/PredicateMethod

      def name = "permessage-deflate"
      def type = "permessage"
      def rsv1 = true
      def rsv2 = false
      def rsv3 = false

      def create_client_session = self

      def generate_offer = OFFER

      # @param parameters [Hash] of the server's response
      # @return [Boolean] whether they are allowed (RFC 7692 7.1)
      def activate(parameters)
        return false unless parameters.all? { |name, value| allowed?(name, value) }

        @resets_context = parameters.key?("client_no_context_takeover")
        @server_resets_context = parameters.key?("server_no_context_takeover")
        @window = parameters.fetch("client_max_window_bits", WINDOW).to_i
        true
      end

      # rubocop:enable Naming/PredicateMethod

      # A message that is too large is cut to one byte more than the limit, so that the driver refuses it.
      def process_incoming_message(message)
        return message unless message.rsv1

        message.data = inflate(message.data)
        message
      end

      def process_outgoing_message(message)
        @deflater = nil if @resets_context
        # zlib cannot write raw data with a window of 8 bits, and one of 9 would be too large for the peer.
        return message if @window < 9

        @deflater ||= Zlib::Deflate.new(Zlib::DEFAULT_COMPRESSION, -@window)
        message.data = @deflater.deflate(message.data, Zlib::SYNC_FLUSH).delete_suffix(TAIL)
        message.rsv1 = true
        message
      end

      # Frees zlib's memory at once, and not at the next garbage collection.
      def close
        [@deflater, @inflater].each { |stream| stream&.close }
        @deflater = @inflater = nil
      end

      def inspect = "#<#{self.class}>"

      private

      def allowed?(name, value)
        return value == true if FLAGS.include?(name)

        BITS.include?(name) && value.to_s.match?(/\A(?:[89]|1[0-5])\z/)
      end

      def inflate(bytes)
        @inflater = nil if @server_resets_context
        @inflater ||= Zlib::Inflate.new(-WINDOW)
        before = @inflater.total_out
        inflated = "".b
        each_part(bytes) do |part|
          break if @inflater.finished?

          @inflater.inflate(part) do |piece|
            inflated << piece
            return inflated.byteslice(0, @limit + 1) if inflated.bytesize > @limit
          end
          inflated << @inflater.flush_next_out
        end
        @inflater.finished? ? trim_rest(inflated, before) : inflated
      end

      def each_part(bytes)
        0.step(bytes.bytesize - 1, INPUT) { |at| yield bytes.byteslice(at, INPUT) }
        yield TAIL
      end

      # A message may contain a final block (RFC 7692 7.2.3.5). Ruby appends any bytes after it unchanged; they are cut
      # off.
      def trim_rest(inflated, before)
        length = @inflater.total_out - before
        @inflater = nil
        inflated.byteslice(0, length)
      end
    end
  end
end
