# frozen_string_literal: true

require_relative "../async_http"

module Bench
  module Peers
    class AsyncHTTPInFibers < AsyncHTTP
      label "async-http in fibers"

      # @return [Array<Array>] status and body of each
      def fibers(path, count)
        client = @client ||= open
        call = Call.of(path: path)
        Array.new(count) { ::Async::Task.current.async { exchange(client, call) } }.map(&:wait)
      end
    end
  end
end
