# frozen_string_literal: true

require_relative "scripted"

module Trunkline
  module Lab
    module Origins
      # A server that counts what reaches it, and answers each request as a script says.
      class Counting
        # @param script [#call] given a connection whose request has been read; :close closes it
        # @yield [origin] started; it is stopped whatever happens
        def self.open(script)
          origin = new(script)
          Scripted.open(origin.method(:serve)) { |server| yield origin, server.plain }
        end

        # @param script [#call]
        def initialize(script)
          @script = script
          @lock = Mutex.new
          @seen = Hash.new(0)
        end

        # Counts what comes while the block runs.
        # @return [Array<Integer>] of each request that differs from the others by path or content: how often it came
        def count
          @lock.synchronize { @seen.clear }
          yield
          @lock.synchronize { @seen.values }
        end

        # @param connection [Scripted::Connection]
        # @return [void]
        def serve(connection)
          while (request = connection.request)
            @lock.synchronize { @seen[[request.verb, request.target, request.body]] += 1 }
            break if @script.call(connection) == :close
          end
        end
      end
    end
  end
end
