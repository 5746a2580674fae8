# frozen_string_literal: true

module Faraday
  class Adapter
    class Trunkline < Faraday::Adapter
      # What in_parallel collects requests in. They go out when its block ends, as one batch; those that their callbacks
      # make join them. All are carried out, then the first failure is raised.
      class Parallel
        include ::Trunkline::Redacted

        # Extends the error that is raised when more than one request failed.
        module Others
          # @return [Array<Exception>] the further failures, in the order in which they came
          attr_accessor :others
        end

        def initialize
          @waiting = []
          @failures = []
        end

        # Called by the adapter.
        # @api private
        def add(adapter, env)
          @waiting << [adapter, env]
          nil
        end

        # @yield makes requests
        # @return [nil]
        # @raise what the first request that failed would have raised by itself
        def execute
          ::Trunkline::Interrupts.watch
          yield
          run until @waiting.empty?
          report(@failures) unless @failures.empty?
        ensure
          @waiting = []
          @failures = []
        end

        private

        # Adapters do not share a client, so each has a batch of its own; usually there is one.
        def run
          adapter, = @waiting.first
          adapter.batch { |batch| start(adapter, batch) }
        end

        def start(adapter, batch)
          own, @waiting = @waiting.partition { |owner, _| owner.equal?(adapter) }
          own.map(&:last).each do |env|
            collect_failure do
              adapter.add(batch, env) { |result| take(adapter, env, result, batch) }
            end
          end
        end

        def take(adapter, env, result, batch)
          collect_failure { adapter.complete(env, result) }
          start(adapter, batch)
        end

        def collect_failure
          yield
        rescue StandardError => error
          ::Trunkline::Interrupts.ended_by?(error) ? raise : @failures << error
        end

        def report(failures)
          first, *others = failures
          first.extend(Others).others = others unless others.empty?
          raise first
        end
      end
    end
  end
end
