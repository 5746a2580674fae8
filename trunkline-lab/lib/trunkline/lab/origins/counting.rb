# frozen_string_literal: true

require_relative "scripted"

module Trunkline
  module Lab
    module Origins
      # A server that counts the requests it receives, and answers each one with a script.
      class Counting
        # @param script [#call] takes a connection whose request has been read; returns :close to close it
        # @yield [origin] which is running; it is stopped in any case
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

        # Counts the requests that arrive while the block runs.
        # @return [Array<Integer>] count of each request that differs from the others by path or content
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
