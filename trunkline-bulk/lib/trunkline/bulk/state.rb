# frozen_string_literal: true

require "trunkline"
require_relative "codec"
require_relative "errors"

module Trunkline
  class Bulk
    # Stores runs, so that nothing is lost when any process is killed at any moment. Subclasses implement the methods
    # below, each as one transaction.
    #
    # A run is cut into slices by the worker that holds its source (one at a time), and a slice is processed by the
    # worker that has claimed it. A claim has a fencing number, which grows with each claim, and ends when it was not
    # renewed for the time of a lease: then another worker may claim the source or the slice, and a record with the old
    # number raises LeaseLost.
    #
    #   begin_run(key, slice)        creates the run, or resumes a paused one -> Run
    #   run(key)                     -> Run, nil
    #   change(run_id, to, from:)    sets the run's state to `to`, if it is one of `from`
    #   claim_source(run_id, worker, lease) -> Feed; nil if another worker holds it, or all of it has been cut
    #   total(run_id, count)         stores how many items the source has
    #   add_slices(feed, slices, cursor, ended:)
    #                                slices: [[first position, bytes of Codec, size], ...]. Raises LeaseLost
    #   claim(run_id, worker, lease) -> Slice; nil if none is free
    #   record(slice, recorded, counts, failures)
    #                                stores the results of a claimed slice; recorded: the new marks of its items;
    #                                counts: {outcome => items} and failures: [Failure, ...] since the last call. A
    #                                complete slice is deleted. Raises LeaseLost
    #   release(slice)               ends the claim of the slice
    #   renew(run_id, worker, lease) renews all claims of the worker
    #   retry_failed(run_id)         makes slices of the failed items, which keep their positions
    #   failures(run_id)             -> Enumerator of Failure
    #   runs                         -> [Run, ...], the newest first
    #   report(run_id, process, figures, life)
    #                                stores the activity of a process (a Hash of JSON), for Run#reports, for
    #                                `life` seconds
    #   jobs(run_id) { |jobs, now| } yields a Hash that is stored with the run (nil at first), and stores the
    #                                value of the block
    class State
      # state: :running, :paused, :cancelled or :done; total: items, when known; cut: items that have been cut into
      # slices; counts: {outcome => items}; failed: items; slices: the number of unfinished slices; reports: of
      # processes that work at the run; began, ended: Time
      Run = Struct.new(:id, :key, :state, :total, :cut, :cut_all, :counts, :done, :failed, :slices, :reports, :began,
                       :ended, keyword_init: true)
      # A worker's claim of the source; position: of the next item.
      Feed = Struct.new(:run_id, :fence, :cursor, :position)
      # recorded: for each item "1" when it is finished, "0" when it is not, "2" and more when it is not and workers
      # have died with it alone in flight; positions: of its items in the source; bytes: the items, encoded by Codec
      Slice = Struct.new(:id, :run_id, :fence, :attempts, :positions, :bytes, :recorded) do
        # @return [Array] decoded anew at each call
        # @raise [InvalidItem]
        def items = Codec.load(bytes)
      end
      # outcome: the name of an error's class; "result: " and such a name, if the result block raised; or "WorkerDied"
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

      # @param text [String] the result of a State's to_s
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
