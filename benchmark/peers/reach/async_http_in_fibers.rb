# frozen_string_literal: true

require_relative "../async_http"

module Bench
  module Peers
    class AsyncHTTPInFibers < AsyncHTTP
      label "async-http in fibers"

      # @return [Array<Array>] status and body of each
      def fibers(paths)
        client = @client ||= open
        paths.map { |path| ::Async::Task.current.async { exchange(client, Call.of(path: path)) } }.map(&:wait)
      end
    end
  end
end
