# frozen_string_literal: true

module Trunkline
  class Bulk
    # How far a run is. Frozen.
    #
    #   name    of the run
    #   state   :running, :paused, :cancelled or :done
    #   done    items with a Response, and those whose request was left out
    #   failed  items with an Error, without a valid request, or whose result block raised
    #   total   items of the source; nil while that is not known
    #   counts  {"200" => 9000, "404" => 12, "ConnectTimeout" => 3}
    #   rate    items a second since the run began
    #   eta     seconds until the end; nil when it cannot be told
    #   began, ended  Time
    class RunStatus
      attr_reader :name, :state, :done, :failed, :total, :counts, :rate, :eta, :began, :ended

      # @param name [String]
      # @param run [State::Run]
      # @api private
      def initialize(name, run)
        @name = name
        @state, @done, @failed, @total, @began, @ended = run.to_h.values_at(:state, :done, :failed, :total, :began,
                                                                            :ended)
        @counts = run.counts.freeze
        seconds = [(@ended || Time.now) - @began, 0.001].max
        @rate = ((@done + @failed) / seconds).round(1)
        @eta = ((@total - @done - @failed) / @rate).round(1) if @state == :running && @total && @rate.positive?
        freeze
      end

      # @return [String] one line
      def to_s
        counted = @counts.sort_by { |outcome, items| [-items, outcome] }.map { |outcome, items| "#{outcome}: #{items}" }
        "#{@name}: #{@state}, #{@done} done, #{@failed} failed#{" of #{@total}" if @total}, #{@rate}/s" \
          "#{", #{@eta.round} s left" if @eta}#{" (#{counted.join(", ")})" unless counted.empty?}"
      end
    end
  end
end
