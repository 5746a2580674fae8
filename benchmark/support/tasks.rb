# frozen_string_literal: true

require "English"
require "trunkline/lab/tasks"
require_relative "lab"
require_relative "peer"
require_relative "ticker"

module Bench
  # What a worker can be told to do with its peer, beyond the lab's tasks: each with a path to GET.
  class Tasks < Trunkline::Lab::Tasks
    CALLS_PER_CLOCK_LOOK = 8
    CALLS_UNTIL_THE_HEAP_SETTLES = 20_000
    # A list is so long that its beginning and its end, with fewer in flight, count for little.
    ROUNDS_OF_A_LIST = 20
    SHORTEST_LIST = 500
    LONGEST_LIST = 10_000

    # @param at_once [Integer, nil] as a list with so many in flight, of which each answer must be the same
    def body_digest(path:, at_once: nil)
      @peer.session do
        bodies = [at_once ? nil : fetch(path)].compact
        @peer.list(path, at_once * 2, at_once) { |body| bodies |= [body.dup] } if at_once
        raise "#{bodies.size} different answers" unless bodies.size == 1

        Digest::SHA256.hexdigest(bodies.first)
      end
    end

    # Calls one after the other for some seconds, after a tenth of that to warm up.
    def for_seconds(path:, seconds:)
      @peer.session do
        repeat_until(Clock.now + (seconds / 10), path)
        Clock.measure { repeat_until(Clock.now + seconds, path) }
      end
    end

    # Lists of requests one after the other, with so many in flight, for some seconds.
    def lists(path:, at_once:, seconds:)
      count = (at_once * ROUNDS_OF_A_LIST).clamp(SHORTEST_LIST, LONGEST_LIST)
      @peer.session do
        list(path, at_once * 2, at_once)
        Clock.measure do
          deadline = Clock.now + seconds
          done = 0
          done += list(path, count, at_once) while Clock.now < deadline
          done
        end
      end
    end

    # Resident bytes for each of many requests that are queued before the first of them is sent, and the most while
    # they run.
    def queued(path:, count:)
      fetch(path)
      GC.start
      before = memory("VmRSS")
      waiting = nil
      @peer.queued(path, count) { waiting = memory("VmRSS") }
      { queued: (waiting - before) * 1024.0 / count, peak: (memory("VmHWM") - before) * 1024.0 / count }
    end

    # Calls that the peer makes together.
    def parallel(path:, count:)
      { wall: elapsed { whole(@peer.parallel(path, count), count) } }
    end

    # One call from each of many fibers at once, by a client just opened; and the same once more, over its connections.
    def fibers(path:, count:)
      @peer.finish
      @peer.session { %i[new kept].to_h { |part| [part, Clock.measure { fibers_once(path, count) }] } }
    end

    # Calls from several threads that share the peer, for some seconds.
    def from_threads(path:, seconds:, threads:)
      fetch(path)
      Clock.measure do
        deadline = Clock.now + seconds
        Array.new(threads) { Thread.new { repeat_until(deadline, path) } }.sum(&:value)
      end
    end

    # A number of calls, by the client as it is.
    def calls(path:, count:) = super(call: { path: path }, count: count, anew: false)

    # Ruby objects allocated per call.
    def objects(path:, count:)
      examine = @peer.respond_to?(:examine) ? @peer.method(:examine) : method(:fetch)
      @peer.session do
        100.times { examine.call(path) }
        before = GC.stat(:total_allocated_objects)
        count.times { examine.call(path) }
        { objects: (GC.stat(:total_allocated_objects) - before) / count.to_f }
      end
    end

    # One large body, streamed or in one String, beside a thread that wakes up every millisecond.
    def download(path:, streamed: true)
      bytes = wall = nil
      GC.start # to give 200 MB of the sample before back to the system takes 30 ms
      late = Ticker.lateness do
        wall = elapsed { bytes = streamed ? @peer.download(path) : fetch(path).bytesize }
      end
      { bytes: bytes, wall: wall, late_ms: late * 1000 }
    end

    # The same thread while this process only waits for another program.
    def wait_for_program(command:)
      output = nil
      late = Ticker.lateness { output = IO.popen(command, &:read) }
      raise "#{command.first} failed" unless $CHILD_STATUS.success?

      { output: output, late_ms: late * 1000 }
    end

    # Resident memory, descriptors and threads before and after many calls.
    def footprint(path:, count:)
      warm = [count / 10, CALLS_UNTIL_THE_HEAP_SETTLES].max
      @peer.session do
        warm.times { fetch(path) }
        before = holdings
        count.times { fetch(path) }
        { before: before, after: holdings }
      end
    end

    private

    # @return [String] the body of a 200; anything else is an error of the benchmark
    def fetch(path)
      status, body = @peer.call((@calls ||= {})[path] ||= Peer::Call.of(path: path))
      raise "status #{status}" unless status == 200

      body
    end

    def list(path, count, at_once)
      done = 0
      @peer.list(path, count, at_once) { done += 1 }
      raise "#{done} of #{count} answers" unless done == count

      count
    end

    def fibers_once(path, count) = whole(@peer.fibers(path, count).select { |status, _| status == 200 }, count)

    def whole(answers, count)
      raise "#{answers.size} of #{count} answers" unless answers.size == count

      count
    end

    def memory(what) = File.read("/proc/self/status")[/#{what}:\s+(\d+)/, 1].to_i

    def repeat_until(deadline, path)
      done = 0
      while Clock.now < deadline
        CALLS_PER_CLOCK_LOOK.times { fetch(path) }
        done += CALLS_PER_CLOCK_LOOK
      end
      done
    end

    def elapsed
      started = Clock.now
      yield
      Clock.now - started
    end

    def holdings
      GC.start
      { rss_kb: memory("VmRSS"),
        descriptors: Dir.children("/proc/self/fd").size, threads: Dir.children("/proc/self/task").size }
    end
  end
end
