# frozen_string_literal: true

require "trunkline/lab/peers/async_http"

module Bench
  module Peers
    class AsyncHTTP < ::Trunkline::Lab::Peers::AsyncHTTP
      # One task per request in flight costs less than one per request.
      def list(paths, concurrency)
        client = @client ||= open
        left = paths.dup
        tasks = Array.new(concurrency) do
          call = Call.of
          ::Async::Task.current.async do
            while (call.path = left.pop)
              status, body = exchange(client, call)
              raise "status #{status}" unless status == 200

              yield body
            end
          end
        end
        tasks.each(&:wait)
      end
    end
  end
end
