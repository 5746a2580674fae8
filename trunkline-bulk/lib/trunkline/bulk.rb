# frozen_string_literal: true

require "trunkline"
require_relative "bulk/version"
require_relative "bulk/configuration"
require_relative "bulk/definition"
require_relative "bulk/errors"
require_relative "bulk/events"
require_relative "bulk/job_run"
require_relative "bulk/local_run"
require_relative "bulk/run_status"
require_relative "bulk/state"

module Trunkline
  # Makes more requests than one call or one process can: a subclass defines a source of any length, the request of each
  # item, and the use of each result. The state of a run is in a database, so that a run is resumed by its name.
  #
  #   class Refresh < Trunkline::Bulk
  #     source  { File.foreach("urls.txt", chomp: true) }
  #     request { |url| { url: url } }
  #     options slice: 1_000, concurrency: :auto, timeout: 10, retry: true, per_origin: 50
  #     result  { |url, response_or_error, key| Page.store(url, response_or_error) }
  #   end
  #
  #   Refresh.start("2026-11")
  #   Refresh.status("2026-11").done # => 10000000
  class Bulk
    extend Definition

    # The runners, by the values of `on:`. Each responds to call(bulk, name, state, progress:).
    @runners = { here: LocalRun, active_job: JobRun }

    autoload :Robots, "#{__dir__}/bulk/robots"
    autoload :SliceJob, "#{__dir__}/bulk/slice_job"
    autoload :Web, "#{__dir__}/bulk/web"
    autoload :SliceWorker, "#{__dir__}/bulk/slice_worker"

    class << self
      # @yield [configuration] for all bulk classes of the process
      # @return [Configuration]
      def configure
        yield Bulk.configuration if block_given?
        Bulk.configuration
      end

      # @return [Configuration]
      # @api private
      def configuration = @configuration ||= Configuration.new

      # Adds a value of `on:`.
      # @param name [Symbol]
      # @param runner [#call]
      # @api private
      def add_runner(name, runner) = Bulk.runners[name] = runner

      # @return [Hash{Symbol => #call}]
      # @api private
      attr_reader :runners

      # Starts a run, or resumes the run of that name. With `on: :here` it returns when the run is done, paused or
      # cancelled.
      #
      # @param name [String] of the run, unique for the class
      # @param on [Symbol] :here, in this process; :active_job, as jobs in the queue of the application: it returns when
      #   they are enqueued
      # @param state [String, Pathname, State, nil] an SQLite file, or a State; nil for configuration.state
      # @param progress [Boolean, #call, nil] whether to show progress; nil: if there is a terminal; a callable gets
      #   each RunStatus
      # @return [RunStatus]
      # @raise [InvalidRequest] for a class without a required definition, and for an invalid argument
      def start(name, on: :here, state: nil, progress: nil)
        name = check_name(name)
        runner = Bulk.runners[on] or raise InvalidRequest.of("on", on, "one of #{Bulk.runners.keys.inspect}")
        check_definition
        store = state_of(state)
        store.begin_run(run_key(name), settings.slice)
        Events.measure("run", bulk: self.name, run: name, on: on) do
          runner.call(self, name, store, progress: progress)
          status(name, state: store)
        end
      end

      # @param name [String]
      # @param state [String, Pathname, State, nil] as of .start
      # @return [RunStatus]
      # @raise [UnknownRun]
      def status(name, state: nil)
        name = check_name(name)
        RunStatus.new(name, find_run(name, state_of(state)))
      end

      # Pauses a run. Requests in flight are finished; no process sends more until .resume.
      # @return [RunStatus]
      # @raise [UnknownRun]
      def pause(name, state: nil) = change(name, state, :paused, from: %i[running])

      # Resumes a paused or cancelled run: in processes that have it open, and at the next .start.
      # @return [RunStatus]
      # @raise [UnknownRun]
      def resume(name, state: nil) = change(name, state, :running, from: %i[paused cancelled])

      # Cancels a run. Requests in flight are finished; the remaining ones are not sent, unless .resume is called.
      # @return [RunStatus]
      # @raise [UnknownRun]
      def cancel(name, state: nil) = change(name, state, :cancelled, from: %i[running paused])

      # Tries the failed items once more: in processes that have the run open, and at the next .start.
      # @return [RunStatus]
      # @raise [UnknownRun]
      def retry_failed(name, state: nil)
        name = check_name(name)
        store = state_of(state)
        Events.measure("change", bulk: self.name, run: name, change: :retry_failed) do
          store.retry_failed(find_run(name, store).id)
          continue_run(name, store)
        end
      end

      # @param name [String]
      # @return [Enumerator<State::Failure>] the items that failed: position, item, outcome, message
      # @raise [UnknownRun]
      def failures(name, state: nil)
        store = state_of(state)
        store.failures(find_run(check_name(name), store).id)
      end

      # @param name [String]
      # @return [String] the run's name in a state that many classes may share
      # @api private
      def run_key(name) = "#{self.name || "anonymous"}/#{name}"

      private

      def change(name, state, to, from:)
        name = check_name(name)
        store = state_of(state)
        Events.measure("change", bulk: self.name, run: name, change: to) do
          store.change(find_run(name, store).id, to, from: from)
          to == :running ? continue_run(name, store) : status(name, state: store)
        end
      end

      def continue_run(name, store)
        JobRun.continue_run(self, check_name(name), store)
        status(name, state: store)
      end

      def find_run(name, store)
        store.run(run_key(name)) || raise(UnknownRun, "#{self} has no run named #{name.inspect} in #{store}")
      end

      def check_name(name)
        text = name.is_a?(Symbol) ? name.name : name
        return text if text.is_a?(String) && text.match?(/\A[\w.: -]{1,200}\z/)

        raise InvalidRequest.of("name", name, "a String of letters, digits, and . _ : - with at most 200 characters")
      end

      def state_of(state) = State.of(state || Bulk.configuration.state)
    end
  end
end
