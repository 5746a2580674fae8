# frozen_string_literal: true

require "English"
require "trunkline/lab/tasks"
require_relative "lab"
require_relative "orders"
require_relative "paths"
require_relative "peer"
require_relative "ticker"

module Bench
  # What a client's process can be told to do with its peer, beyond the lab's tasks. Where a task has urls:, that is one
  # of Paths::KINDS.
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
        @peer.list(Array.new(at_once * 2, path), at_once) { |body| bodies |= [body.dup] } if at_once
        raise "#{bodies.size} different answers" unless bodies.size == 1

        Digest::SHA256.hexdigest(bodies.first)
      end
    end

    # @return [String] a digest of the JSON that one order is answered with
    def order_digest(path:)
      @peer.session { Digest::SHA256.hexdigest(JSON.generate(@peer.order(path, 1))) }
    end

    # Calls one after the other for some seconds, after a tenth of that to warm up.
    def gets(path:, urls:, seconds:)
      paths = paths(path, urls)
      @peer.session { for_seconds(seconds) { |count| @peer.gets(paths, count) } }
    end

    # Lists of GETs one after the other, with so many in flight, for some seconds.
    def lists(path:, urls:, at_once:, seconds:)
      paths = paths(path, urls)
      count = length(at_once)
      @peer.session do
        list(paths.take(at_once * 2), at_once)
        until_over(seconds) { list(paths.take(count), at_once) }
      end
    end

    # Orders (Orders), one after the other or in batches with so many in flight.
    def orders(path:, seconds:, at_once: nil)
      @number ||= Paths::FIRST
      @peer.session do
        next for_seconds(seconds) { |count| count.times { @peer.order(path, @number += 1) } } unless at_once

        some_orders(path, at_once * 2, at_once)
        until_over(seconds) { some_orders(path, length(at_once), at_once) }
      end
    end

    # Resident bytes for each of many requests that are queued before the first of them is sent, and the most while
    # they run.
    def queued(path:, count:)
      fetch(path)
      GC.start
      before = memory("VmRSS")
      waiting = nil
      @peer.queued(paths(path, "distinct").take(count)) { waiting = memory("VmRSS") }
      { queued: (waiting - before) * 1024.0 / count, peak: (memory("VmHWM") - before) * 1024.0 / count }
    end

    # Calls that the peer makes together.
    def parallel(path:, count:)
      asked = paths(path, "distinct").take(count)
      { wall: elapsed { whole(@peer.parallel(asked), count) } }
    end

    # One call from each of many fibers at once, by a client just opened; and the same once more, over its connections.
    def fibers(path:, count:)
      @peer.finish
      asked = paths(path, "distinct")
      @peer.session { %i[new kept].to_h { |part| [part, Clock.measure { fibers_once(asked.take(count)) }] } }
    end

    # Calls from several threads that share the peer, for some seconds.
    def from_threads(path:, seconds:, threads:)
      fetch(path)
      @asked = @asked.to_i + 1
      Clock.measure do
        deadline = Clock.now + seconds
        callers = Array.new(threads) do |number|
          Thread.new { repeat_until(deadline, Paths.new(path, "distinct", prefix: "#{@asked}-#{number}-")) }
        end
        callers.sum(&:value)
      end
    end

    # GETs one after the other, or lists of as many as are in flight, beside a thread that computes.
    def beside_computing(path:, seconds:, at_once: nil)
      asked = paths(path, "distinct")
      one = ->(count) { at_once ? list(asked.take(count), at_once) : count.times { fetch(asked.next) } }
      count = at_once || 1
      over = false
      @peer.session do
        one.call(count)
        other = Thread.new { nil until over }
        until_over(seconds) { one.call(count) && count }
      ensure
        over = true
        other&.join
      end
    end

    # A number of calls, by the client as it is.
    def calls(path:, count:) = super(call: { path: path }, count: count, anew: false)

    # Ruby objects allocated per GET of which the status, one header field and the body are read, without the URL.
    # @param at_once [Integer, nil] in batches with so many in flight
    def objects(path:, urls:, count:, at_once: nil)
      asked = paths(path, urls)
      @peer.session do
        @peer.examine(asked.take(100), at_once)
        urls_of_calls = asked.take(count)
        { objects: allocated { @peer.examine(urls_of_calls, at_once) } / count.to_f }
      end
    end

    # CPU in microseconds, and Ruby objects, of a GET: in a process that never had a listener, after one was taken off,
    # and with one. The least of so many turns: other programs, and caches that fill up, only add to it.
    def listeners(path:, count:, turns:)
      asked = paths(path, "distinct")
      least = -> { Array.new(turns) { cost_of_gets(asked.take(count)) }.transpose.map(&:min) }
      @peer.session do
        CALLS_UNTIL_THE_HEAP_SETTLES.times { fetch(asked.next) }
        never = least.call
        ::Trunkline.on(:call) { nil }.off
        off = least.call
        ::Trunkline.on(:call) { nil }
        { never: never, off: off, on: least.call }
      end
    end

    # CPU in microseconds of a GET that the cache answers: the least of so many turns, as above.
    # @param bearer [String, nil] the client's token
    def cache_hits(path:, count:, turns:, bearer:)
      asked = paths(path, "distinct").take(count)
      @peer.caching(bearer) do |read|
        asked.each(&read)
        Array.new(turns) { cost_of_each(asked, &read) }.min.tap do
          raise "the cache has not answered" unless asked.map(&read).all? { |answer| answer.cache.hit? }
        end
      end
    end

    # Ruby objects allocated per order, without those that the caller's literals and JSON make.
    def order_objects(path:, count:)
      @peer.session do
        text = JSON.generate(@peer.order(path, 1))
        100.times { |number| @peer.order(path, number) }
        orders = allocated { count.times { |number| @peer.order(path, number) } }
        callers = allocated { count.times { |number| Orders.callers_part(number, text) } }
        { objects: (orders - callers) / count.to_f, callers: callers / count.to_f }
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
      asked = paths(path, "distinct")
      @peer.session do
        warm.times { fetch(asked.next) }
        before = holdings
        count.times { fetch(asked.next) }
        { before: before, after: holdings }
      end
    end

    private

    # Kept from sample to sample, so that no number comes twice.
    def paths(path, urls) = (@paths ||= {})[[path, urls]] ||= Paths.new(path, urls)

    def length(at_once) = (at_once * ROUNDS_OF_A_LIST).clamp(SHORTEST_LIST, LONGEST_LIST)

    # @return [String] the body of a 200; anything else is an error of the benchmark
    def fetch(path, call = @call ||= Peer::Call.of)
      call.path = path
      status, body = @peer.call(call)
      raise "status #{status}" unless status == 200

      body
    end

    def list(paths, at_once)
      done = 0
      @peer.list(paths, at_once) { done += 1 }
      whole_count(done, paths.size)
    end

    def some_orders(path, count, at_once)
      done = 0
      numbers = (@number + 1)..(@number += count)
      @peer.orders(path, numbers, at_once) { done += 1 }
      whole_count(done, count)
    end

    def fibers_once(paths) = whole(@peer.fibers(paths).select { |status, _| status == 200 }, paths.size)

    def whole(answers, count) = whole_count(answers.size, count)

    def whole_count(done, count)
      raise "#{done} of #{count} answers" unless done == count

      count
    end

    def memory(what) = File.read("/proc/self/status")[/#{what}:\s+(\d+)/, 1].to_i

    # Measures a block that makes so many calls as it is told.
    def for_seconds(seconds)
      warm = Clock.now + (seconds / 10)
      yield CALLS_PER_CLOCK_LOOK while Clock.now < warm
      until_over(seconds) do
        yield CALLS_PER_CLOCK_LOOK
        CALLS_PER_CLOCK_LOOK
      end
    end

    # Measures a block that returns how many calls it made.
    def until_over(seconds)
      Clock.measure do
        deadline = Clock.now + seconds
        done = 0
        done += yield while Clock.now < deadline
        done
      end
    end

    def repeat_until(deadline, paths)
      call = Peer::Call.of
      done = 0
      while Clock.now < deadline
        CALLS_PER_CLOCK_LOOK.times { fetch(paths.next, call) }
        done += CALLS_PER_CLOCK_LOOK
      end
      done
    end

    # @return [Array(Float, Float)]
    def cost_of_gets(paths)
      cost = nil
      objects = allocated { cost = cost_of_each(paths) { |path| fetch(path) } }
      [cost, (objects / paths.size.to_f).round(1)]
    end

    # @return [Float] CPU in microseconds
    def cost_of_each(paths, &block)
      GC.start
      Clock.measure { paths.each(&block).size }[:cpu] * 1e6 / paths.size
    end

    def allocated
      before = GC.stat(:total_allocated_objects)
      yield
      GC.stat(:total_allocated_objects) - before
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
