# frozen_string_literal: true

require "trunkline/lab/peers/async_http"

module Bench
  module Peers
    class AsyncHTTP < ::Trunkline::Lab::Peers::AsyncHTTP
      # One task for each in flight: less than one for each request.
      def list(paths, at_once)
        client = @client ||= open
        left = paths.dup
        tasks = Array.new(at_once) do
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
