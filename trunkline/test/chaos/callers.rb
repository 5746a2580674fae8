# frozen_string_literal: true

require "English"
require_relative "ledger"

# The callers of the chaos test: threads that share a few clients. Each has its own Random, derived from the seed, so
# that it repeats the same plan in any order of the threads.
class Callers
  THREADS = 6
  KINDS = %w[echo echo chunks large slow close].freeze
  OPTIONS = { timeout: { total: Ledger::TOTAL, connect: 1 }, max_connections_per_host: 6, max_idle: 12 }.freeze

  # @param chaos [#on?]
  # @param bases [Hash{String => String}] URLs, by the names of listeners
  def initialize(chaos, ledger, random, bases, ca_file)
    @chaos = chaos
    @ledger = ledger
    @random = random
    @bases = bases
    @options = { **OPTIONS, ca_file: ca_file }
    @clients = bases.to_h { |name, base| [name, client(name, base)] }
  end

  # @return [Array<Thread>]
  def start
    victims = Array.new(THREADS) { |number| replaced("v#{number}") { |name, random| single(name, random) } }
    others = { batches: 2, each: 1, futures: 1, fibers: 1, forks: 1, closed: 1 }.flat_map do |kind, count|
      Array.new(count) { |number| repeated("#{kind}#{number}") { |name, random| send(kind, name, random) } }
    end
    victims + others + [interrupter, collector]
  end

  def close = @clients.each_value(&:close)

  private

  def client(name, base)
    Trunkline.new(base, **@options, **(name.start_with?("h2") ? { http: :h2 } : {}))
  end

  # A thread that calls the block with numbered names for as long as the chaos test runs.
  def repeated(name, count = 0)
    random = Random.new(@random.rand(2**31))
    quiet { yield("#{name}-#{count += 1}", random) while @chaos.on? }
  end

  # Like repeated, in a thread that the interrupter interrupts and kills; it is replaced when it ends.
  def replaced(name)
    random = Random.new(@random.rand(2**31))
    count = 0
    quiet do
      while @chaos.on?
        victim = quiet { yield("#{name}-#{count += 1}", random) while @chaos.on? }
        @ledger.note("threads that were killed or interrupted outside of a call") if ended?(victim)
      end
    end
  end

  def ended?(thread)
    (@victims ||= Queue.new) << thread
    thread.join
    @chaos.on?
  rescue *Ledger::FROM_OUTSIDE
    true
  end

  def quiet(&block) = Thread.new(&block).tap { |thread| thread.report_on_exception = false }
  def any(random) = @clients.values.sample(random: random)
  def path(name, random) = "/#{KINDS.sample(random: random)}/#{name}"

  CALL_STYLES = {
    get: ->(http, path, _) { http.get(path).body },
    post: ->(http, path, random) { http.post(path, body: "b" * random.rand(100_000)).body },
    form: ->(http, path, _) { http.post(path, form: { a: 1 }).body },
    timeout: ->(http, path, random) { Timeout.timeout(random.rand(0.1) + 0.001) { http.get(path).body } },
    streamed: ->(http, path, _) { (+"").tap { |body| http.get(path) { |chunk| body << chunk } } },
    left: lambda { |http, path, _|
      http.get(path) { break }
      nil
    },
    closed: lambda { |http, path, _|
      http.get(path, stream: true).tap(&:read).close
      nil
    },
    dropped: lambda { |http, path, _|
      http.get(path, stream: true).status
      nil
    },
    raised: ->(http, path, _) { http.get(path) { raise Ledger::Stumbled } && nil },
    upload: ->(http, path, random) { http.post(path, body: Array.new(random.rand(6)) { "b" * 20_000 }.each).body },
    stumbling: ->(http, path, _) { http.post(path, body: ["b" * 50_000, "c"].lazy.map { |b| b == "c" ? raise(Ledger::Stumbled) : b }).body }
  }.freeze
  private_constant :CALL_STYLES

  def single(name, random)
    way = CALL_STYLES.keys.sample(random: random)
    http = any(random)
    path = path(name, random)
    @ledger.call(way, name) { CALL_STYLES.fetch(way).call(http, path, random) }
  end

  def batches(name, random)
    any(random).batch(concurrency: random.rand(1..8)) do |batch|
      12.times do |number|
        own = "#{name}.#{number}"
        block = ->(result) { settle(:batch, own, result) || (raise Ledger::Stumbled if number == 5) }
        random.rand < 0.3 ? batch.post(path(own, random), body: "b", &block) : batch.get(path(own, random), &block)
      end
    end
  rescue Ledger::Stumbled
    @ledger.note("batch: a block raised")
  end

  def each(name, random)
    names = Array.new(20) { |number| "#{name}.#{number}" }
    urls = names.to_h { |own| [path(own, random), own] }
    left = random.rand < 0.3 ? random.rand(20) : nil
    seen = 0
    any(random).each(urls.keys, concurrency: random.rand(2) == 1 ? :auto : 5) do |url, result|
      settle(:each, urls.fetch(url), result)
      break if left && (seen += 1) > left
    end
  end

  # @return [nil]
  def settle(kind, name, result)
    @ledger.call(kind, name) { result.is_a?(Exception) ? raise(result) : result.body }
    nil
  end

  def futures(name, random)
    http = any(random)
    futures = Array.new(6) { |number| ["#{name}.#{number}", nil] }.map do |own, _|
      [own, http.async.get(path(own, random))]
    end
    futures.map(&:last).sample(2, random: random).each(&:cancel) if random.rand < 0.4
    futures.each { |own, future| @ledger.call(:future, own) { future.value!.body } }
  end

  def fibers(name, random)
    Sync do |reactor|
      tasks = Array.new(8) do |number|
        own = "#{name}.#{number}"
        path = path(own, random)
        http = any(random)
        reactor.async { @ledger.call(:fiber, own) { http.get(path).body } }
      end
      tasks.sample(random: random).stop if random.rand < 0.5
      tasks.each(&:wait)
    end
  end

  # Forks a child that uses its parent's clients: it exits with 0, or with 1 when it received the response to another
  # request.
  def forks(name, random)
    sleep(random.rand * 0.5)
    choice = [any(random), any(random)]
    paths = Array.new(4) { |number| ["#{name}.#{number}", path("#{name}.#{number}", random)] }
    pid = fork { exit!(child(choice, paths) ? 0 : 1) }
    Process.wait(pid)
    @ledger.note("fork: #{$CHILD_STATUS.inspect[/exit \d+|SIG\w+/]}")
    @ledger.violation("#{name}: a forked child got another's response") unless $CHILD_STATUS.success?
  end

  def child(clients, paths)
    paths.zip(clients.cycle).all? do |(own, path), http|
      http.get(path).body.start_with?(own)
    rescue Trunkline::Error
      true
    end
  end

  # Closes a client while other threads use it.
  def closed(name, random)
    base = @bases.keys.sample(random: random)
    http = client(base, @bases.fetch(base))
    callers = Array.new(3) do |number|
      own = "#{name}.#{number}"
      path = path(own, random)
      quiet { @ledger.call(:closed, own) { http.get(path).body } }
    end
    sleep(random.rand * 0.05)
    http.close
    callers.each(&:join)
  end

  def interrupter
    random = Random.new(@random.rand(2**31))
    quiet do
      while @chaos.on?
        sleep(random.rand * 0.05)
        victim = (@victims ||= Queue.new).pop(true) rescue next # rubocop:disable Style/RescueModifier -- there may be none
        random.rand < 0.3 ? victim.kill : victim.raise(Ledger::Interrupted)
      end
    end
  end

  def collector
    quiet do
      while @chaos.on?
        GC.start
        GC.compact if GC.respond_to?(:compact)
        sleep 0.3
      end
    end
  end
end
