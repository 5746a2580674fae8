# frozen_string_literal: true

require "digest"
require "English"
require_relative "ticker"

module Bench
  # What a worker can be told to do with its peer. Every task answers with plain numbers and strings.
  class Tasks
    CALLS_PER_CLOCK_LOOK = 8
    CALLS_UNTIL_THE_HEAP_SETTLES = 20_000

    def initialize(peer) = @peer = peer

    # Versions of the gems in use.
    def versions(names:)
      names.to_h { |name| [name, Gem.loaded_specs[name]&.version.to_s] }
    end

    def body_digest(path:)
      @peer.session { Digest::SHA256.hexdigest(@peer.call(path)) }
    end

    # Calls one after the other for some seconds, after a tenth of that to warm up.
    def for_seconds(path:, seconds:)
      @peer.session do
        repeat_until(Clock.now + (seconds / 10), path)
        measure { repeat_until(Clock.now + seconds, path) }
      end
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
      { rss_kb: File.read("/proc/self/status")[/VmRSS:\s+(\d+)/, 1].to_i,
        descriptors: Dir.children("/proc/self/fd").size, threads: Dir.children("/proc/self/task").size }
    end
  end
end
