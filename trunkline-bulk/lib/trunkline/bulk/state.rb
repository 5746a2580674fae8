# frozen_string_literal: true

require "trunkline"
require_relative "codec"
require_relative "errors"

module Trunkline
  class Bulk
    # What is known of runs, kept so that nothing is lost when any process is killed at any moment. Subclasses implement
    # the methods below, each as one transaction.
    #
    # A run is cut into slices by whoever has its source (one worker at a time), and a slice is worked at by whoever has
    # claimed it. A claim has a fencing number that grows with each claim, and ends when it was not renewed for the time
    # of a lease: what was claimed goes to another worker then, and what is recorded with the old number raises
    # LeaseLost.
    #
    #   begin_run(key, slice)        makes the run, or sets a paused one going -> Run
    #   run(key)                     -> Run, nil
    #   change(run_id, to, from:)    sets its state, if that is one of `from`
    #   claim_source(run_id, worker, lease) -> Feed, nil: another has it, or all of it has been cut
    #   total(run_id, count)         notes how many items the source has
    #   add_slices(feed, slices, cursor, ended:)
    #                                slices: [[first position, bytes of Codec, size], ...]. Raises LeaseLost
    #   claim(run_id, worker, lease) -> Slice, nil: there is none to be had now
    #   record(slice, recorded, counts, failures)
    #                                of a claimed slice; recorded: its items that are over, from now on; counts:
    #                                {outcome => items} and failures: [Failure, ...] since the last time. A slice that
    #                                is complete is over with it. Raises LeaseLost
    #   release(slice)               gives it back
    #   renew(run_id, worker, lease) for all that the worker has claimed
    #   retry_failed(run_id)         makes slices of the items that failed; they have the positions that they had
    #   failures(run_id)             -> Enumerator of Failure
    #   runs                         -> [Run, ...], the newest first
    #   report(run_id, process, figures, life)
    #                                what a process does now (a Hash of JSON): of Run#reports for that many seconds
    #   jobs(run_id) { |jobs, now| } a Hash that is kept with the run (nil at first): gives what is kept from now on
    class State
      # state: :running, :paused, :cancelled or :done; total: items, when known; cut: items that are in slices or
      # recorded; counts: {outcome => items}; failed: items; slices: that are not over; reports: of processes that work
      # at it now; began, ended: Time
      Run = Struct.new(:id, :key, :state, :total, :cut, :cut_all, :counts, :done, :failed, :slices, :reports, :began,
                       :ended, keyword_init: true)
      # Of the source, for the worker that has it.
      Feed = Struct.new(:run_id, :fence, :cursor, :position)
      # recorded: for each item "1" when it is over, "0" when it is not, "2" and more when it is not and workers have
      # died with it alone; positions: of its items in the source; bytes: the items, as Codec has written them
      Slice = Struct.new(:id, :run_id, :fence, :attempts, :positions, :bytes, :recorded) do
        # @return [Array] read anew at each call
        # @raise [InvalidItem]
        def items = Codec.load(bytes)
      end
      # outcome: the name of an error's class
      Failure = Struct.new(:position, :item, :outcome, :message)

      # @param value [State, String, Pathname, Symbol] a file's path; :active_record for the application's database
      # @return [State]
      # @raise [InvalidRequest]
      def self.of(value)
        return value if value.is_a?(State)
        return ActiveRecord.instance if value == :active_record
        return SQLite.at(value.to_s) if value.is_a?(String) || value.respond_to?(:to_path)

        raise InvalidRequest.of("state", value, "the path of an SQLite file, :active_record, or a Trunkline::Bulk::State")
      end

      # @param text [String] what a State's to_s has given
      # @return [String, Symbol] for State.of
      def self.named(text) = text == "active_record" ? :active_record : text

      # @return [Float] seconds between two reports of a process
      def report_interval = 5.0

      autoload :ActiveRecord, "#{__dir__}/state/active_record"
      autoload :SQLite, "#{__dir__}/state/sqlite"

      private

      # @param recorded [String] of a slice
      def complete?(recorded) = recorded.count("^1").zero?
    end
  end
end
