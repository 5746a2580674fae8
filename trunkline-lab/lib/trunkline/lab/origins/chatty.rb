# frozen_string_literal: true

require_relative "../calls"
require_relative "../peer"

module Trunkline
  module Lab
    module Origins
      # A Rack application whose every request makes many calls to a second service: one after another with Faraday, or
      # all in parallel. The path names the kind of the calls, one of Calls::KINDS.
      class Chatty
        JSON_FIELDS = { "Content-Type" => "application/json" }.freeze

        # @param way [String] "parallel", or an adapter of Faraday
        # @param json_path [String] path for POSTs of JSON
        def initialize(way:, base:, ca_file:, calls:, path:, json_path:)
          @count = calls
          @calls = Calls::KINDS.keys.to_h do |kind|
            call = { verb: "POST", path: json_path, headers: JSON_FIELDS } if kind == "json"
            [kind, Calls.new(Peer::Call.of(**(call || { path: path })), kind)]
          end
          @make = way == "parallel" ? parallel(base, ca_file) : faraday(way.to_sym, base, ca_file)
        end

        def call(env)
          calls = @calls.fetch(env["PATH_INFO"].delete_prefix("/"))
          good = @make.call(calls).count(200)
          body = "#{good} of #{@count}"
          [good == @count ? 200 : 502, { "content-type" => "text/plain", "content-length" => body.bytesize.to_s },
           [body]]
        end

        private

        # @return [Proc] takes calls and returns the status of each
        def parallel(base, ca_file)
          require "trunkline"
          client = Trunkline.new(base, timeout: 10, ca_file: ca_file)
          lambda { |calls|
            requests = Array.new(@count) do
              call = calls.next
              [call.verb, call.path, { headers: call.headers, body: call.body }.compact]
            end
            client.map(requests, concurrency: @count).map do |response|
              status(calls, response.status, response.body) unless response.is_a?(Trunkline::Error)
            end
          }
        end

        def faraday(adapter, base, ca_file)
          require "faraday"
          require "faraday/net_http_persistent" if adapter == :net_http_persistent
          require "faraday/adapter/trunkline" if adapter == :trunkline
          options = { request: { timeout: 10 }, ssl: { ca_file: ca_file } }
          connection = Faraday.new(base, **options) { |faraday| faraday.adapter adapter }
          lambda { |calls|
            Array.new(@count) do
              call = calls.next
              response = connection.run_request(call.verb.downcase.to_sym, call.path, call.body, call.headers)
              status(calls, response.status, response.body)
            end
          }
        end

        def status(calls, status, body)
          calls.read(status, body)
          status
        end
      end
    end
  end
end
