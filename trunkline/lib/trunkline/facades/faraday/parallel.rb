# frozen_string_literal: true

require_relative "../../interrupts"
require_relative "../../redacted"

module Faraday
  class Adapter
    class Trunkline < Faraday::Adapter
      # The manager of in_parallel: collects requests, and sends them as one batch when the block ends. Requests made in
      # their callbacks join the batch. When all requests are done, the first failure is raised.
      class Parallel
        include ::Trunkline::Redacted

        # Extends the error that is raised when more than one request failed.
        module Others
          # @return [Array<Exception>] the further failures, in the order in which they occurred
          attr_accessor :others
        end

        # Passes the parts of one response to its request's on_data.
        class Streamed
          include ::Trunkline::Redacted

          def initialize(adapter, env)
            @adapter = adapter
            @env = env
            @bytes = 0
          end

          # @param part [::Trunkline::Response, String, nil, Exception] see Batch#stream
          def receive(part)
            case part
            when ::Trunkline::Response then @adapter.begin_stream(@env, part)
            when String then report(part)
            when nil then finish
            else @adapter.complete(@env, part)
            end
          end

          private

          def report(chunk)
            @bytes += chunk.bytesize
            @env.request.on_data.call(chunk, @bytes, @env)
          end

          # Reports an empty body as one empty chunk, as Faraday::Env#stream_response does.
          def finish
            report(+"") if @bytes.zero?
            @adapter.finish_stream(@env)
          end
        end

        def initialize
          @queued = []
          @failures = []
        end

        # Called by the adapter.
        # @api private
        def add(adapter, env)
          @queued << [adapter, env]
          nil
        end

        # @yield makes requests
        # @return [nil]
        # @raise [StandardError] the first failure, as the request alone would have raised it
        def execute
          ::Trunkline::Interrupts.watch
          yield
          run until @queued.empty?
          report(@failures) unless @failures.empty?
        ensure
          @queued = []
          @failures = []
        end

        private

        # Each adapter has its own client, and so needs its own batch; usually there is one adapter.
        def run
          adapter, = @queued.first
          adapter.batch { |batch| start(adapter, batch) }
        end

        def start(adapter, batch)
          entries, @queued = @queued.partition { |queued_adapter, _| queued_adapter.equal?(adapter) }
          entries.map(&:last).each do |env|
            collect_failure { adapter.add(batch, env, &receiver(adapter, env, batch)) }
          end
        end

        def receiver(adapter, env, batch)
          return ->(result) { complete(adapter, env, result, batch) } unless adapter.streams?(env)

          streamed = Streamed.new(adapter, env)
          lambda do |part|
            failures = @failures.size
            collect_failure { streamed.receive(part) }
            start(adapter, batch)
            @failures.size == failures
          end
        end

        def complete(adapter, env, result, batch)
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
