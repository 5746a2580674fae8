# frozen_string_literal: true

require_relative "origins/scripted"
require_relative "preloaded"

module Trunkline
  module Lab
    # Tests of safety: scripted servers that fail as real servers sometimes do, and each client's reaction.
    class Safety
      TESTS = {
        post: "POST sent twice", put: "PUT sent twice", timeout: "wrong response after Timeout",
        raise: "wrong response after Thread#raise", fork: "wrong responses after fork",
        poison: "stray response accepted, at once", late: "stray response accepted, late",
        redirect: "leaked by a redirect"
      }.freeze
      NOTE = "Each client with its defaults, on kept connections. \"error\": the call raised an error, which is " \
             "safe; \"-\": does not apply."
      SECRETS = { "Authorization" => "Bearer secret", "Cookie" => "session=secret", "X-Api-Key" => "secret" }.freeze
      SLOW = 0.6         # seconds until the response, after the call was interrupted
      PATIENCE = 0.2     # seconds until the interrupt
      TIMEOUT = 2        # seconds that a client waits for a response that another process has read
      PAUSE = 0.3        # seconds between two calls
      CHILDREN = 3
      CALLS = 50         # of each process
      LIMIT = 20
      TRIES = 5          # attempts at a pair of calls, where the machine is too slow for PAUSE

      # @param preloaded [Preloaded]
      def initialize(preloaded)
        @preloaded = preloaded
        @peer = preloaded.peer
      end

      # @return [Hash] told: text for the table; safe; evidence: what was observed
      def run(test)
        send(:"try_#{test}")
      rescue PeerProcess::Failed => error
        { told: "error", safe: true, evidence: error.message.split.join(" ") }
      end

      private

      def fact(summary, safe, evidence) = { told: summary, safe: safe, evidence: evidence }
      def not_applicable(why) = fact("-", true, why)

      def try_post = replay("POST")
      def try_put = replay("PUT")
      def try_timeout = interrupt("timeout")
      def try_raise = interrupt("raise")
      def try_poison = stray_response(0)
      def try_late = stray_response(PAUSE / 3)

      # The server reads the whole second request on a kept connection, and then ends the connection.
      def replay(verb)
        requests = 0
        script = lambda do |connection|
          while (request = connection.request)
            next connection.answer("warm") if request.target == "/warm"

            requests += 1
            break if requests == 1

            connection.answer("done")
          end
        end
        ended = serve(script) do |process|
          process.ask(:calls, call: { path: "/warm" }, count: 1)
          process.ask(:outcome, call: { verb: verb, path: "/order", body: "order" }, limit: LIMIT)
        end
        evidence = "the server received it #{times(requests)}; the call ended with: #{ended[:ended_with]}"
        requests > 1 ? fact("yes", false, evidence) : fact("no", true, evidence)
      end

      def interrupt(way)
        script = lambda do |connection|
          while (request = connection.request)
            sleep SLOW if request.target == "/slow"
            connection.answer(request.target)
          end
        end
        result = serve(script) do |process|
          process.ask(:interrupted, first: { path: "/slow" }, second: { path: "/next" }, after: PATIENCE, way: way,
                                    limit: LIMIT)
        end
        evidence = "requested /next, got #{result[:body].inspect}"
        result[:body] == "/next" ? fact("no", true, evidence) : fact("yes", false, evidence)
      end

      def try_fork
        return not_applicable("it lives in one process's event loop") if @peer.lacks.include?(:fork)

        script = lambda do |connection|
          while (request = connection.request)
            connection.answer(request.target)
          end
        end
        result = serve(script) { |process| process.ask(:forked, children: CHILDREN, count: CALLS, limit: LIMIT * 2) }
        evidence = "#{result[:wrong]} wrong, #{result[:errors]} errors in #{result[:calls]} calls"
        return fact("#{result[:wrong]} of #{result[:calls]}", false, evidence) if result[:wrong].positive?

        fact(result[:errors].positive? ? "0 (#{result[:errors]} errors)" : "0", true, evidence)
      end

      # After the first response, the server sends a second one that belongs to no request. If the client has sent its
      # next request by then, the stray response would look like the response to that; in this case the pair of calls is
      # repeated.
      def stray_response(delay)
        body = nil
        TRIES.times do
          sent_in_time = true
          script = stray_response_with_first if delay.zero?
          script ||= stray_response_after(delay) { |next_request_arrived| sent_in_time = !next_request_arrived }
          result = serve(script) do |process|
            process.ask(:pair, first: { path: "/first" }, second: { path: "/second" }, pause: PAUSE, limit: LIMIT)
          end
          body = result[:bodies].last
          break if sent_in_time
        end
        fact(body == "/second" ? "no" : "yes", body == "/second", "requested /second, got #{body.inspect}")
      end

      # @yieldparam next_request_arrived [Boolean] whether it had arrived when the stray response was sent
      def stray_response_after(delay)
        lambda do |connection|
          while (request = connection.request)
            connection.answer(request.target)
            next unless request.target == "/first"

            sleep delay
            connection.answer("EVIL")
            yield connection.waiting?
          end
        end
      end

      def stray_response_with_first
        lambda do |connection|
          while (request = connection.request)
            stray = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nEVIL" if request.target == "/first"
            path = request.target
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: #{path.bytesize}\r\n\r\n#{path}#{stray}")
          end
        end
      end

      # Redirects to another origin: another port of the same host.
      def try_redirect
        return not_applicable("it follows no redirects") if @peer.lacks.include?(:redirects)

        leaked = nil
        other = lambda do |connection|
          while (request = connection.request)
            leaked = SECRETS.keys.select { |name| request.headers.key?(name.downcase) }
            connection.answer("there")
          end
        end
        Origins::Scripted.open(other) do |elsewhere|
          serve(redirecting("http://127.0.0.1:#{elsewhere.port}/there"), follow: true) do |process|
            process.ask(:outcome, call: { path: "/here", headers: SECRETS }, limit: LIMIT)
          end
        end
        return not_applicable("it did not follow the redirect") if leaked.nil?

        fact(leaked.empty? ? "nothing" : leaked.join(", "), leaked.empty?, "the other origin got #{leaked.inspect}")
      end

      def redirecting(location)
        lambda do |connection|
          connection.answer("", status: "302 Found", headers: { "Location" => location }) while connection.request
        end
      end

      def serve(script, **options, &block)
        Origins::Scripted.open(script) do |server|
          @preloaded.process(base: server.plain, timeout: TIMEOUT, **options, &block)
        end
      end

      def times(count)
        case count
        when 1 then "once"
        when 2 then "twice"
        else "#{count} times"
        end
      end
    end
  end
end
