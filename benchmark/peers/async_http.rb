# frozen_string_literal: true

require "trunkline/lab/peers/async_http"

module Bench
  module Peers
    class AsyncHTTP < ::Trunkline::Lab::Peers::AsyncHTTP
      # One task for each in flight: less than one for each request.
      def list(path, count, at_once)
        client = @client ||= open
        call = Call.of(path: path)
        left = count
        tasks = Array.new(at_once) do
          ::Async::Task.current.async do
            while left.positive?
              left -= 1
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
