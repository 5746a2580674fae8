# frozen_string_literal: true

require_relative "loading"

module Trunkline
  # The progress of one transfer. A callable given as progress: of an upload or a download is called with it a few times
  # a second and at the end. Frozen.
  #
  #   client.put("/import", body: Pathname.new("export.csv"), progress: ->(progress) { log(progress.to_s) })
  #
  #   bytes  bytes so far; an upload that is sent again, as after a redirect, begins at 0 again
  #   total  bytes in all; nil when unknown
  #   rate   bytes per second, over the last 3 seconds
  #   eta    remaining seconds at that rate; nil when unknown
  TransferProgress = Struct.new(:bytes, :total, :rate, :eta, keyword_init: true) do
    def initialize(**)
      super
      freeze
    end

    # @return [String] one line
    def to_s
      size = self.class.size(bytes)
      size += " of #{self.class.size(total)}, #{total.zero? ? 100 : bytes * 100 / total} %" if total
      left = ", #{eta.ceil} s left" if eta&.positive?
      "#{size}, #{self.class.size(rate.round)}/s#{left}"
    end
  end

  class TransferProgress # rubocop:disable Style/Documentation -- above
    UNITS = %w[kB MB GB TB PB].freeze
    private_constant :UNITS

    # @api private
    # @param bytes [Integer]
    # @return [String] such as "1.5 MB"
    def self.size(bytes)
      return "#{bytes} B" if bytes < 1000

      power = [Math.log(bytes, 1000).floor, UNITS.size].min
      "#{(bytes / (1000.0**power)).round(1)} #{UNITS[power - 1]}"
    end

    # Measures the rate, and reports the progress with each #call.
    # @api private
    class Reporter
      # Seconds that the rate is measured over.
      SPAN = 3.0

      # @param wanted [true, #call, false, nil]
      # @return [Reporter, nil] nil when wanted is no callable, and is false, nil or output is no terminal
      def self.for(wanted, output: $stderr)
        return new(wanted) if wanted.respond_to?(:call)

        return unless wanted && output.tty?

        bar = Loading.in_thread_if_needed do
          require_relative "transfer_progress/bar"
          Bar.on(output)
        end
        new(bar.method(:show), bar.method(:finish))
      end

      # @param callable [#call] called with a TransferProgress
      # @param over [#call, nil] called after the last report
      def initialize(callable, over = nil)
        @callable = callable
        @over = over
        @samples = []
      end

      # @param bytes [Integer] so far; 0 restarts the measurement
      # @param total [Integer, nil]
      # @param over [Boolean] whether this is the last report
      # @return [void]
      def call(bytes, total, over)
        rate = rate_at(bytes)
        eta = total && rate.positive? ? (total - bytes) / rate : nil
        eta = 0.0 if bytes == total
        @callable.call(TransferProgress.new(bytes: bytes, total: total, rate: rate, eta: eta))
        @over&.call if over
      end

      private

      def rate_at(bytes)
        now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
        @samples.clear if bytes.zero?
        @samples << [now, bytes]
        @samples.shift while @samples.size > 2 && @samples[1][0] <= now - SPAN
        began, before = @samples.first
        now > began ? (bytes - before) / (now - began) : 0.0
      end
    end
  end
end
