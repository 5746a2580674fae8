# frozen_string_literal: true

require "English"
require "trunkline/lab/tasks"
require_relative "lab"
require_relative "orders"
require_relative "paths"
require_relative "peer"
require_relative "ticker"

module Bench
  # Tasks that the process of a client can run with its peer, beyond the lab's tasks. The argument urls: of a task is
  # one of Paths::KINDS.
  class Tasks < Trunkline::Lab::Tasks
    CALLS_PER_CLOCK_READ = 8
    CALLS_UNTIL_THE_HEAP_SETTLES = 20_000
    # A list is long enough that its beginning and its end, with fewer in flight, have little weight.
    ROUNDS_OF_A_LIST = 20
    SHORTEST_LIST = 500
    LONGEST_LIST = 10_000

    # @param concurrency [Integer, nil] number of requests in flight in a list, whose responses must all be the same
    def body_digest(path:, concurrency: nil)
      @peer.session do
        bodies = [concurrency ? nil : fetch(path)].compact
        @peer.list(Array.new(concurrency * 2, path), concurrency) { |body| bodies |= [body.dup] } if concurrency
        raise "#{bodies.size} different answers" unless bodies.size == 1

        Digest::SHA256.hexdigest(bodies.first)
      end
    end

    # @return [String] a digest of the JSON in the response to one order
    def order_digest(path:)
      @peer.session { Digest::SHA256.hexdigest(JSON.generate(@peer.order(path, 1))) }
    end

    # Makes calls one after the other for `seconds`, after a tenth of that time to warm up.
    def gets(path:, urls:, seconds:)
      paths = paths(path, urls)
      @peer.session { for_seconds(seconds) { |count| @peer.gets(paths, count) } }
    end

    # Makes lists of GETs one after the other, with `concurrency` in flight, for `seconds`.
    def lists(path:, urls:, concurrency:, seconds:)
      paths = paths(path, urls)
      count = length(concurrency)
      @peer.session do
        list(paths.take(concurrency * 2), concurrency)
        until_over(seconds) { list(paths.take(count), concurrency) }
      end
    end

    # Makes orders (Orders), one after the other or in batches with `concurrency` in flight.
    def orders(path:, seconds:, concurrency: nil)
      @number ||= Paths::FIRST
      @peer.session do
        next for_seconds(seconds) { |count| count.times { @peer.order(path, @number += 1) } } unless concurrency

        some_orders(path, concurrency * 2, concurrency)
        until_over(seconds) { some_orders(path, length(concurrency), concurrency) }
      end
    end

    # Returns the resident bytes per request of many requests that are queued before the first is sent, and the peak
    # while they run.
    def queued(path:, count:)
      fetch(path)
      GC.start
      before = memory("VmRSS")
      waiting = nil
      @peer.queued(paths(path, "distinct").take(count)) { waiting = memory("VmRSS") }
      { queued: (waiting - before) * 1024.0 / count, peak: (memory("VmHWM") - before) * 1024.0 / count }
    end

    # Measures calls that the peer makes concurrently.
    def parallel(path:, count:)
      asked = paths(path, "distinct").take(count)
      { wall: elapsed { whole(@peer.parallel(asked), count) } }
    end

    # Makes one call from each of many concurrent fibers, by a client just opened; and once more, over its connections.
    def fibers(path:, count:)
      @peer.finish
      asked = paths(path, "distinct")
      @peer.session { %i[new kept].to_h { |part| [part, Clock.measure { fibers_once(asked.take(count)) }] } }
    end

    # Makes calls from several threads that share the peer, for `seconds`.
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

    # Makes GETs one after the other, or lists of `concurrency` GETs, while another thread computes.
    def beside_computing(path:, seconds:, concurrency: nil)
      asked = paths(path, "distinct")
      one = ->(count) { concurrency ? list(asked.take(count), concurrency) : count.times { fetch(asked.next) } }
      count = concurrency || 1
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

    # Makes calls of distinct URLs with the open client.
    def calls(path:, count:) = super(call: { path: path }, kind: "distinct", count: count, anew: false)

    # Ruby objects allocated per GET including the reading of status, one header field and body, without the URL.
    # @param concurrency [Integer, nil] number of requests in flight in batches
    def objects(path:, urls:, count:, concurrency: nil)
      asked = paths(path, urls)
      @peer.session do
        @peer.read_all(asked.take(100), concurrency)
        urls_of_calls = asked.take(count)
        { objects: allocated { @peer.read_all(urls_of_calls, concurrency) } / count.to_f }
      end
    end

    # CPU in microseconds, and Ruby objects, of a GET: in a process that never had a listener, after one was removed,
    # and with one. Each value is the minimum of `turns` turns, since other programs and caches that fill up only add to
    # it.
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

    # CPU in microseconds of a GET that the cache answers: the minimum of `turns` turns, as in #listeners.
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

    # Ruby objects allocated per order, without those of the caller's literals and of JSON.
    def order_objects(path:, count:)
      @peer.session do
        @number ||= Paths::FIRST
        text = JSON.generate(@peer.order(path, @number += 1))
        100.times { @peer.order(path, @number += 1) }
        orders = allocated { count.times { @peer.order(path, @number += 1) } }
        callers = allocated { count.times { |number| Orders.callers_part(number, text) } }
        { objects: (orders - callers) / count.to_f, callers: callers / count.to_f }
      end
    end

    # Reads one large body, streamed or as one String, while another thread wakes up every millisecond.
    def download(path:, streamed: true)
      bytes = wall = nil
      GC.start # returning the 200 MB of the sample before to the system takes 30 ms
      late = Ticker.lateness do
        wall = elapsed { bytes = streamed ? @peer.download(path) : fetch(path).bytesize }
      end
      { bytes: bytes, wall: wall, late_ms: late * 1000 }
    end

    # Measures the same thread while this process only waits for another program.
    def wait_for_program(command:)
      output = nil
      late = Ticker.lateness { output = IO.popen(command, &:read) }
      raise "#{command.first} failed" unless $CHILD_STATUS.success?

      { output: output, late_ms: late * 1000 }
    end

    # Resident memory, file descriptors and threads before and after many calls.
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

    # Kept from sample to sample, so that no number is used twice.
    def paths(path, urls) = (@paths ||= {})[[path, urls]] ||= Paths.new(path, urls)

    def length(concurrency) = (concurrency * ROUNDS_OF_A_LIST).clamp(SHORTEST_LIST, LONGEST_LIST)

    # @return [String] the body of a response with status 200; any other status is an error of the benchmark
    def fetch(path, call = @call ||= Peer::Call.of)
      call.path = path
      status, body = @peer.call(call)
      raise "status #{status}" unless status == 200

      body
    end

    def list(paths, concurrency)
      done = 0
      @peer.list(paths, concurrency) { done += 1 }
      whole_count(done, paths.size)
    end

    def some_orders(path, count, concurrency)
      done = 0
      numbers = (@number + 1)..(@number += count)
      @peer.orders(path, numbers, concurrency) { done += 1 }
      whole_count(done, count)
    end

    def fibers_once(paths) = whole(@peer.fibers(paths).select { |status, _| status == 200 }, paths.size)

    def whole(answers, count) = whole_count(answers.size, count)

    def whole_count(done, count)
      raise "#{done} of #{count} answers" unless done == count

      count
    end

    def memory(what) = File.read("/proc/self/status")[/#{what}:\s+(\d+)/, 1].to_i

    # Measures a block that makes as many calls as its argument says.
    def for_seconds(seconds)
      warm = Clock.now + (seconds / 10)
      yield CALLS_PER_CLOCK_READ while Clock.now < warm
      until_over(seconds) do
        yield CALLS_PER_CLOCK_READ
        CALLS_PER_CLOCK_READ
      end
    end

    # Measures a block that returns the number of calls that it made.
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
        CALLS_PER_CLOCK_READ.times { fetch(paths.next, call) }
        done += CALLS_PER_CLOCK_READ
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
