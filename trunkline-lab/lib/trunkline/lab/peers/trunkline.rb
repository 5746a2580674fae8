# frozen_string_literal: true

require_relative "../peer"

module Trunkline
  module Lab
    module Peers
      class Trunkline < Peer
        label "Trunkline"
        local_gems "trunkline"
        speaks :http2

        # Uses Client#each. With a rate, latency is also measured from the time at which each call should have started.
        def many(calls, concurrency, recorder, rate: nil, timings: false)
          @client ||= open
          due = {}.compare_by_identity if rate
          options = { concurrency: concurrency, max_in_flight: concurrency, rate: rate }.compact
          before = opened
          @client.each(Requests.new(calls, due, rate), options) do |item, result|
            take(result, calls, recorder, timings)
            recorder.correct(Clock.now - due.delete(item)) if due
          end
          recorder.opened = opened - before
        end

        def timed(call)
          response = (@client ||= open).request(call.verb, call.path, headers: call.headers, body: call.body)
          [response.status, response.body, response.timings.to_h.slice(:total, :gvl)]
        end

        private

        def open
          require "trunkline"
          ::Trunkline.new(@base, timeout: @timeout, **options)
        end

        def options
          { ca_file: @ca_file, follow: @follow ? 5 : nil, verify: @insecure ? false : nil, http: @http&.to_sym }.compact
        end

        def exchange(client, call)
          response = client.request(call.verb, call.path, headers: call.headers, body: call.body)
          [response.status, response.body]
        end

        def pieces(client, call, &block)
          client.get(call.path, headers: call.headers, &block)
        end

        def close(client) = client.close

        # Implements #next_request itself, because an Enumerator has a fiber, which is a thread on JRuby.
        Requests = Struct.new(:calls, :due, :rate, :started, :number) do
          def next_request
            call = calls.next or return
            body = call.body
            request = [call.verb, call.path, body ? { headers: call.headers, body: body } : { headers: call.headers }]
            note(request) if rate
            request
          end

          def note(request)
            self.started ||= Clock.now
            self.number = number.to_i + 1
            due[request] = started + ((number - 1) / rate.to_f)
          end
        end
        private_constant :Requests

        def take(result, calls, recorder, timings)
          return recorder.failed(result.class.name) if result.is_a?(::Trunkline::Error)

          spent = result.timings
          recorder.record(spent.total, result.status, calls.read(result.status, result.body))
          detail(result, spent, recorder) if timings
        end

        # Number of connections opened since the process began.
        def opened = @client.stats[:opened]

        def detail(result, spent, recorder)
          connecting = [spent.resolve, spent.connect, spent.tls].compact.sum
          recorder.phase(:connect, connecting)
          recorder.phase(:processing, spent.total - connecting)
          recorder.phase(:waiting, spent.first_byte.to_f)
          # HTTP/2 compresses header fields, so the size of the head is unknown here.
          return if recorder.head? || !result.http_version.start_with?("1")

          recorder.head(result.headers.sum { |name, value| name.bytesize + value.bytesize + 4 } +
                        "HTTP/1.1 200 #{result.reason}\r\n\r\n".bytesize)
        end
      end
    end
  end
end
