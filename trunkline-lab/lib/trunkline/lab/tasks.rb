# frozen_string_literal: true

require "digest"
require "timeout"
require_relative "calls"
require_relative "clock"
require_relative "recorder"
require_relative "peer"

module Trunkline
  module Lab
    # The tasks of a worker, each a public method. Each returns numbers and strings that can be encoded as JSON.
    class Tasks
      # @param file [String] the peer's file
      # @param options [Hash] options of Peer.new
      def self.of(file, **options)
        require file
        new(Peer.known.find { |peer| peer.file == file }.new(**options))
      end

      def initialize(peer)
        @peer = peer
        @peer.prepare
      end

      # Makes #many begin no more calls. May be called in a trap handler.
      def stop! = @stopped = true

      # Versions of the loaded gems.
      def versions(names:)
        names.to_h { |name| [name, Gem.loaded_specs[name]&.version.to_s] }
      end

      # Makes one call and returns its result.
      # @param kind [String] one of Calls::KINDS
      def probe(call:, kind: "repeated", keep: 4000)
        calls = Calls.new(Peer::Call.of(**call), kind)
        @peer.session do
          status, body = @peer.call(calls.next)
          calls.read(status, body)
          { status: status, bytes: body.bytesize, body: text(body, keep),
            digest: Digest::SHA256.hexdigest(body) }
        end
      end

      # Makes `count` calls one after another.
      # @param kind [String] one of Calls::KINDS
      # @param anew [Boolean] whether to open a new client first, so that connecting is measured
      # @param keep [Boolean] whether this client makes all calls; false for a new client for each
      def calls(call:, count:, kind: "repeated", anew: true, keep: true)
        calls = Calls.new(Peer::Call.of(**call), kind)
        @peer.finish if anew
        @peer.keep = keep if anew
        @peer.session do
          Clock.measure do
            count.times do
              status, body = @peer.call(calls.next)
              raise "status #{status}" if status >= 400

              calls.read(status, body)
            end
            count
          end
        end
      end

      # Makes calls with `concurrency` of them in flight, until `requests` or `seconds` are used up.
      # @param kind [String] one of Calls::KINDS
      # @param rate [Numeric, nil] calls per second in total
      # @param timings [Boolean] whether to record the phases of each call (Trunkline only), and the run in intervals
      def many(call:, concurrency:, kind: "repeated", requests: nil, seconds: nil, rate: nil, timings: false)
        calls = Calls.new(Peer::Call.of(**call), kind, limit(requests, seconds))
        recorder = Recorder.new(interval: (concurrency if timings))
        options = { rate: rate, timings: timings }.select { |_, value| value }
        usage = @peer.session do
          Clock.measure do
            @peer.many(calls, concurrency, recorder, **options)
            recorder.completed
          end
        end
        usage.merge(recorder.to_h, rss_kb: rss)
      end

      # Makes one call that gets no proper response, and returns how and when it ends.
      def outcome(call:)
        call = Peer::Call.of(**call)
        ended = "answered"
        started = Clock.now
        @peer.session do
          started = Clock.now
          status, = @peer.call(call)
          ended = "status #{status}"
        rescue StandardError => error
          ended = error.instance_of?(RuntimeError) ? error.message : error.class.name
        end
        { wall: Clock.now - started, ended_with: ended }
      end

      # Makes calls next to threads that never release the GVL by themselves. The server answers with the monotonic
      # clock at the time when it wrote the response, in seconds.
      # @param kind [String] one of Calls::KINDS
      # @return [Array<Hash>] seconds for each call: wall:, the whole call; written:, until the server wrote the
      #   response; waited:, from then on; and reported:, the timings that the client reports
      def beside_busy_threads(call:, busy:, count:, kind: "repeated")
        calls = Calls.new(Peer::Call.of(**call), kind)
        @peer.session do
          @peer.timed(calls.next)
          over = false
          threads = Array.new(busy) { Thread.new { nil until over } }
          Array.new(count) { timed_call(calls) }
        ensure
          over = true
          threads&.each(&:join)
        end
      end

      # Reads `streams` streams of server-sent events in parallel threads; each event holds the time when it was sent.
      # @return [Hash] delays: of each token, in seconds from sending to the call of the block; seconds: in total; or
      #   cannot: true
      def tokens(call:, streams:)
        return { cannot: true } unless @peer.streams?

        call = Peer::Call.of(**call)
        @peer.session { wait_for_streams(Array.new(streams) { Thread.new { token_delays(call) } }) }
      end

      # Makes a call that is interrupted, and returns the body of a second call.
      # @param way [String] "timeout" or "raise"
      def interrupted(first:, second:, after:, way:)
        @peer.session do
          interrupt(Peer::Call.of(**first), after, way)
          _, body = @peer.call(Peer::Call.of(**second))
          { body: body }
        end
      end

      # Makes two calls with a pause between them, and returns both bodies.
      def pair(first:, second:, pause:)
        @peer.session do
          _, one = @peer.call(Peer::Call.of(**first))
          sleep pause
          _, two = @peer.call(Peer::Call.of(**second))
          { bodies: [one, two] }
        end
      end

      # Makes a call that may fail in any way, and then a call to "/good" with the same client.
      # @param warm [Boolean] whether a good call precedes them
      # @param upload [Integer, nil] size of the request body in bytes
      # @param follow_up [Boolean] whether to make the second call
      # @return [Hash] of the first call, seconds:, and error: (its class) or digest:, bytes: and body: (its first
      #   bytes); of the second call, after: "good", "error" or another body
      def pair_with_fault(call:, warm:, upload:, pause:, follow_up:)
        call = Peer::Call.of(**call, **({ body: "x" * upload } if upload).to_h)
        good = Peer::Call.of(path: "/good")
        @peer.session do
          @peer.call(good) if warm
          result = result_of(call)
          next result unless follow_up

          sleep pause
          after = result_of(good)
          result.merge(after: after[:error] ? "error" : after[:body])
        end
      end

      # Uses the client once, and then in the parent and in children, each of which requests different bodies.
      # @return [Hash] wrong answers, errors, calls
      def forked(children:, count:)
        @peer.call(Peer::Call.of(path: "/warm"))
        pipes = Array.new(children) { |number| fork_child(number, count) }
        parent_result = count_wrong_bodies("p", count)
        child_results = pipes.map do |pid, pipe|
          line = pipe.wait_readable(10) && pipe.gets
          Process.kill("KILL", pid) unless line
          Process.wait(pid)
          line ? line.split.map(&:to_i) : [0, count]
        end
        wrong, errors = [parent_result, *child_results].transpose.map(&:sum)
        { wrong: wrong, errors: errors, calls: (children + 1) * count }
      end

      private

      # Invalid UTF-8 is replaced, since JSON can only encode UTF-8.
      def text(body, bytes) = body.byteslice(0, bytes).force_encoding(Encoding::UTF_8).scrub("?")

      def result_of(call)
        started = Clock.now
        _, body = @peer.call(call)
        { seconds: Clock.now - started, digest: Digest::SHA256.hexdigest(body.to_s), bytes: body.to_s.bytesize,
          body: text(body.to_s, 100) }
      rescue StandardError => error
        { seconds: Clock.now - started, error: error.class.name }
      end

      def wait_for_streams(threads)
        seconds = Clock.measure { threads.each(&:join).size }[:wall]
        { delays: threads.flat_map(&:value), seconds: seconds }
      end

      def token_delays(call)
        rest = +""
        delays = []
        @peer.stream(call) do |bytes|
          now = Clock.now
          rest << bytes
          while (event = rest.slice!(/\A.*?\n\n/m))
            delays << (now - event.delete_prefix("data: ").to_f)
          end
        end
        delays
      end

      def timed_call(calls)
        call = calls.next
        began = Clock.now
        status, body, timings = @peer.timed(call)
        ended = Clock.now
        raise "status #{status}" unless status == 200

        calls.read(status, body)
        written = Float(body)
        { wall: ended - began, written: written - began, waited: ended - written, reported: timings }
      end

      def limit(requests, seconds)
        lock = Mutex.new
        left = requests
        deadline = seconds && (Clock.now + seconds)
        lambda do
          return false if @stopped || (deadline && Clock.now > deadline)
          return true unless left

          lock.synchronize { left.positive? && (left -= 1) && true }
        end
      end

      def interrupt(call, after, way)
        if way == "timeout"
          Timeout.timeout(after) { @peer.call(call) }
        else
          caller = Thread.current
          raiser = Thread.new do
            sleep after
            caller.raise("interrupted")
          end
          @peer.call(call)
        end
      rescue StandardError
        nil # the call is meant to be interrupted
      ensure
        raiser&.join
      end

      def fork_child(number, count)
        reader, writer = IO.pipe
        pid = fork do
          writer.puts(count_wrong_bodies("c#{number}", count).join(" "))
          writer.flush
          exit!(0)
        end
        writer.close
        [pid, reader]
      end

      def count_wrong_bodies(name, count)
        wrong = errors = 0
        count.times do |number|
          path = "/#{name}-#{number}"
          _, body = @peer.call(Peer::Call.of(path: path))
          wrong += 1 unless body == path
        rescue StandardError
          errors += 1
        end
        [wrong, errors]
      end

      def rss
        File.read("/proc/self/status")[/VmRSS:\s+(\d+)/, 1].to_i
      rescue SystemCallError
        nil
      end
    end
  end
end
