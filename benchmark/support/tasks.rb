# frozen_string_literal: true

require "digest"
require "English"
require_relative "ticker"

module Bench
  # What a worker can be told to do with its peer. Every task answers with plain numbers and strings.
  class Tasks
    CALLS_PER_CLOCK_LOOK = 8
    CALLS_UNTIL_THE_HEAP_SETTLES = 20_000
    # A list is so long that its beginning and its end, with fewer in flight, count for little.
    ROUNDS_OF_A_LIST = 20
    SHORTEST_LIST = 500
    LONGEST_LIST = 10_000

    def initialize(peer) = @peer = peer

    # Versions of the gems in use.
    def versions(names:)
      names.to_h { |name| [name, Gem.loaded_specs[name]&.version.to_s] }
    end

    # @param at_once [Integer, nil] as a list with so many in flight, of which each answer must be the same
    def body_digest(path:, at_once: nil)
      @peer.session do
        bodies = [at_once ? nil : @peer.call(path)].compact
        @peer.list(path, at_once * 2, at_once) { |body| bodies |= [body] } if at_once
        raise "#{bodies.size} different answers" unless bodies.size == 1

        Digest::SHA256.hexdigest(bodies.first)
      end
    end

    # Calls one after the other for some seconds, after a tenth of that to warm up.
    def for_seconds(path:, seconds:)
      @peer.session do
        repeat_until(Clock.now + (seconds / 10), path)
        measure { repeat_until(Clock.now + seconds, path) }
      end
    end

    # Lists of requests one after the other, with so many in flight, for some seconds.
    def lists(path:, at_once:, seconds:)
      count = (at_once * ROUNDS_OF_A_LIST).clamp(SHORTEST_LIST, LONGEST_LIST)
      @peer.session do
        list(path, at_once * 2, at_once)
        measure do
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
      @peer.call(path)
      GC.start
      before = memory("VmRSS")
      waiting = nil
      @peer.queued(path, count) { waiting = memory("VmRSS") }
      { queued: (waiting - before) * 1024.0 / count, peak: (memory("VmHWM") - before) * 1024.0 / count }
    end

    # Calls that the peer makes together.
    def parallel(path:, count:)
      bodies = nil
      wall = elapsed { bodies = @peer.parallel(path, count) }
      raise "#{bodies.size} of #{count} answers" unless bodies.size == count

      { wall: wall }
    end

    # Calls from several threads that share the peer, for some seconds.
    def from_threads(path:, seconds:, threads:)
      @peer.call(path)
      measure do
        deadline = Clock.now + seconds
        Array.new(threads) { Thread.new { repeat_until(deadline, path) } }.sum(&:value)
      end
    end

    # A number of calls, by the client as it is.
    def calls(path:, count:)
      @peer.session do
        measure do
          count.times { @peer.call(path) }
          count
        end
      end
    end

    # The same by a client just opened, so that connecting is part of it.
    def calls_anew(path:, count:)
      @peer.finish
      calls(path: path, count: count)
    end

    # Ruby objects allocated per call.
    def objects(path:, count:)
      examine = @peer.respond_to?(:examine) ? @peer.method(:examine) : @peer.method(:call)
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
      late = Ticker.lateness do
        wall = elapsed { bytes = streamed ? @peer.download(path) : @peer.call(path).bytesize }
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
        warm.times { @peer.call(path) }
        before = holdings
        count.times { @peer.call(path) }
        { before: before, after: holdings }
      end
    end

    # How one call ends that gets no answer, and when.
    def outcome(path:)
      name = "no error"
      wall = nil
      @peer.session do
        @peer.prepare
        wall = elapsed do
          @peer.call(path)
        rescue StandardError => error
          name = error.instance_of?(RuntimeError) ? error.message : error.class.name
        end
      end
      { wall: wall, ended_with: name }
    end

    private

    def list(path, count, at_once)
      done = 0
      @peer.list(path, count, at_once) { done += 1 }
      raise "#{done} of #{count} answers" unless done == count

      count
    end

    def memory(what) = File.read("/proc/self/status")[/#{what}:\s+(\d+)/, 1].to_i

    def repeat_until(deadline, path)
      done = 0
      while Clock.now < deadline
        CALLS_PER_CLOCK_LOOK.times { @peer.call(path) }
        done += CALLS_PER_CLOCK_LOOK
      end
      done
    end

    def measure
      times = Process.times
      cpu = Clock.cpu
      requests = nil
      wall = elapsed { requests = yield }
      spent = Process.times
      { requests: requests, wall: wall, cpu: Clock.cpu - cpu,
        user: spent.utime - times.utime, sys: spent.stime - times.stime }
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
