# frozen_string_literal: true

require "digest"
require "timeout"
require_relative "calls"
require_relative "clock"
require_relative "recorder"
require_relative "peer"

module Trunkline
  module Lab
    # The tasks of a worker, each a public method. Every one returns numbers and strings that JSON can carry.
    class Tasks
      # @param file [String] of the peer
      # @param options [Hash] those of Peer.new
      def self.of(file, **options)
        require file
        new(Peer.known.find { |peer| peer.file == file }.new(**options))
      end

      def initialize(peer)
        @peer = peer
        @peer.prepare
      end

      # #many is to begin no more calls. May be called in a trap.
      def enough! = @enough = true

      # Versions of the gems in use.
      def versions(names:)
        names.to_h { |name| [name, Gem.loaded_specs[name]&.version.to_s] }
      end

      # One call: what it gave.
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

      # So many calls one after the other.
      # @param kind [String] one of Calls::KINDS
      # @param anew [Boolean] by a client just opened, so that connecting is part of it
      # @param keep [Boolean] this one for all calls, or a new one for each
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

      # Calls with so many in flight, until there were enough or the time is over.
      # @param kind [String] one of Calls::KINDS
      # @param rate [Numeric, nil] calls a second in all
      # @param timings [Boolean] each phase of each call too (Trunkline alone), and the run in intervals
      def many(call:, concurrency:, kind: "repeated", requests: nil, seconds: nil, rate: nil, timings: false)
        calls = Calls.new(Peer::Call.of(**call), kind, limit(requests, seconds))
        recorder = Recorder.new(interval: (concurrency if timings))
        extras = { rate: rate, timings: timings }.select { |_, value| value }
        usage = @peer.session do
          Clock.measure do
            @peer.many(calls, concurrency, recorder, **extras)
            recorder.completed
          end
        end
        usage.merge(recorder.to_h, rss_kb: rss)
      end

      # How one call ends that gets no proper answer, and when.
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

      # Calls beside threads that never give up Ruby's lock by themselves, to a server that answers with the monotonic
      # clock, in seconds, as it wrote the answer.
      # @return [Array<Hash>] seconds of each: wall:, the whole call; answer:, until the server wrote; waited:, from
      #   then on; and told:, what the client says itself
      def beside_busy_threads(call:, busy:, count:)
        call = Peer::Call.of(**call)
        @peer.session do
          @peer.timed(call)
          over = false
          threads = Array.new(busy) { Thread.new { nil until over } }
          Array.new(count) { one_beside(call) }
        ensure
          over = true
          threads&.each(&:join)
        end
      end

      # So many streams at once, by threads, of server-sent events that say when they were sent.
      # @return [Hash] delays: of each token, in seconds, from when it was sent to when the block had it; seconds: in
      #   all; or cannot: true
      def tokens(call:, streams:)
        return { cannot: true } unless @peer.streams?

        call = Peer::Call.of(**call)
        @peer.session { tokens_of(Array.new(streams) { Thread.new { delays(call) } }) }
      end

      # The first call is interrupted; returns the second one's body.
      # @param way [String] "timeout" or "raise"
      def interrupted(first:, second:, after:, way:)
        @peer.session do
          interrupt(Peer::Call.of(**first), after, way)
          _, body = @peer.call(Peer::Call.of(**second))
          { body: body }
        end
      end

      # One call, a pause, another call: both bodies.
      def pair(first:, second:, pause:)
        @peer.session do
          _, one = @peer.call(Peer::Call.of(**first))
          sleep pause
          _, two = @peer.call(Peer::Call.of(**second))
          { bodies: [one, two] }
        end
      end

      # A call that may go wrong in any way, and one to "/good" by the same client.
      # @param warm [Boolean] a good call comes first
      # @param upload [Integer, nil] bytes of its body
      # @param follow_up [Boolean] whether the other call can be made
      # @return [Hash] seconds:, and error: (its class) or digest:, bytes: and body: (its first bytes) of the first;
      #   after: "good", "error" or another body of the second
      def pair_with_fault(call:, warm:, upload:, pause:, follow_up:)
        call = Peer::Call.of(**call, **({ body: "x" * upload } if upload).to_h)
        good = Peer::Call.of(path: "/good")
        @peer.session do
          @peer.call(good) if warm
          seen = ended(call)
          next seen unless follow_up

          sleep pause
          after = ended(good)
          seen.merge(after: after[:error] ? "error" : after[:body])
        end
      end

      # The client, used once, goes on in the parent and in children: each asks for bodies of its own.
      # @return [Hash] wrong answers, errors, calls
      def forked(children:, count:)
        @peer.call(Peer::Call.of(path: "/warm"))
        pipes = Array.new(children) { |number| fork_one(number, count) }
        own = ask_for_own("p", count)
        told = pipes.map do |pid, pipe|
          line = pipe.wait_readable(10) && pipe.gets
          Process.kill("KILL", pid) unless line
          Process.wait(pid)
          line ? line.split.map(&:to_i) : [0, count]
        end
        wrong, errors = [own, *told].transpose.map(&:sum)
        { wrong: wrong, errors: errors, calls: (children + 1) * count }
      end

      private

      # JSON carries no other bytes than those of UTF-8.
      def text(body, bytes) = body.byteslice(0, bytes).force_encoding(Encoding::UTF_8).scrub("?")

      def ended(call)
        started = Clock.now
        _, body = @peer.call(call)
        { seconds: Clock.now - started, digest: Digest::SHA256.hexdigest(body.to_s), bytes: body.to_s.bytesize,
          body: text(body.to_s, 100) }
      rescue StandardError => error
        { seconds: Clock.now - started, error: error.class.name }
      end

      def tokens_of(threads)
        seconds = Clock.measure { threads.each(&:join).size }[:wall]
        { delays: threads.flat_map(&:value), seconds: seconds }
      end

      def delays(call)
        rest = +""
        seen = []
        @peer.stream(call) do |bytes|
          now = Clock.now
          rest << bytes
          while (event = rest.slice!(/\A.*?\n\n/m))
            seen << (now - event.delete_prefix("data: ").to_f)
          end
        end
        seen
      end

      def one_beside(call)
        began = Clock.now
        status, body, told = @peer.timed(call)
        ended = Clock.now
        raise "status #{status}" unless status == 200

        written = Float(body)
        { wall: ended - began, answer: written - began, waited: ended - written, told: told }
      end

      def limit(requests, seconds)
        lock = Mutex.new
        left = requests
        deadline = seconds && (Clock.now + seconds)
        lambda do
          return false if @enough || (deadline && Clock.now > deadline)
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
        nil # that was the point
      ensure
        raiser&.join
      end

      def fork_one(number, count)
        reader, writer = IO.pipe
        pid = fork do
          writer.puts(ask_for_own("c#{number}", count).join(" "))
          writer.flush
          exit!(0)
        end
        writer.close
        [pid, reader]
      end

      def ask_for_own(name, count)
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
