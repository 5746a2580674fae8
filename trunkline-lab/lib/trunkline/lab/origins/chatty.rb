# frozen_string_literal: true

module Trunkline
  module Lab
    module Origins
      # A Rack application whose every request makes many calls to a second service: one after the other through
      # Faraday, or all at once.
      class Chatty
        def initialize(kind:, base:, ca_file:, calls:, path:)
          @calls = calls
          @path = path
          @fetch = kind == "parallel" ? parallel(base, ca_file) : faraday(kind.to_sym, base, ca_file)
        end

        def call(_env)
          statuses = @fetch.call
          good = statuses.count(200)
          body = "#{good} of #{@calls}"
          [good == @calls ? 200 : 502, { "content-type" => "text/plain", "content-length" => body.bytesize.to_s },
           [body]]
        end

        private

        def parallel(base, ca_file)
          require "trunkline"
          client = Trunkline.new(base, timeout: 10, ca_file: ca_file)
          lambda {
            client.map([@path] * @calls, concurrency: @calls).map do |answer|
              answer.respond_to?(:status) && answer.status
            end
          }
        end

        def faraday(adapter, base, ca_file)
          require "faraday"
          require "faraday/net_http_persistent" if adapter == :net_http_persistent
          require "faraday/adapter/trunkline" if adapter == :trunkline
          options = { request: { timeout: 10 }, ssl: { ca_file: ca_file } }
          connection = Faraday.new(base, **options) { |faraday| faraday.adapter adapter }
          -> { Array.new(@calls) { connection.get(@path).status } }
        end
      end
    end
  end
end
