# frozen_string_literal: true

require "async"
require "json"
require "trunkline"
require_relative "../support/leak_check"
require_relative "calls"

# Makes a call in one way, in a process forked for it, while the nth call of one function fails; then makes a call
# without that failure.
class Attempt
  # The paths are those of ../chaos/origin.rb.
  WAYS = {
    get: ->(own, http) { own.call("GET", "echo") { |path| http.get(path).body } },
    post: ->(own, http) { own.call("POST", "echo") { |path| http.post(path, body: "b" * 100_000).body } },
    upload: lambda do |own, http|
      own.call("POST", "chunks") { |path| http.post(path, body: Array.new(3, "b" * 20_000).each).body }
    end,
    streamed: lambda do |own, http|
      own.call("GET", "large") { |path| (+"").tap { |body| http.get(path) { |chunk| body << chunk } } }
    end,
    future: ->(own, http) { own.call("GET", "echo") { |path| http.async.get(path).value!.body } },
    fiber: ->(own, http) { Sync { own.call("GET", "chunks") { |path| http.get(path).body } } },
    batch: lambda do |own, http|
      http.batch(concurrency: 4) do |batch|
        6.times do |number|
          verb = number.odd? ? :post : :get
          own.later(verb.to_s.upcase, "echo") { |path, settle| batch.public_send(verb, path, &settle) }
        end
      end
    end,
    each: lambda do |own, http|
      settles = Array.new(5) { own.later("GET", "echo") { |path, settle| [path, settle] } }.to_h
      http.each(settles.keys, concurrency: 3) { |path, result| settles.fetch(path).call(result) }
    end
  }.freeze
  PATIENCE = 50 # hundredths of a second within which closed descriptors are gone
  OPTIONS = { timeout: { total: 2, connect: 1 }, max_idle: 8 }.freeze

  # @param base [String] the URL of the listener
  # @param name [String] the prefix of the names of requests
  # @param kept [Boolean] whether the call uses a kept connection
  def initialize(way, base, name, kept:, **options)
    @way = WAYS.fetch(way)
    @future = way == :future
    @name = name
    @kept = kept
    @http = Trunkline.new(base, **OPTIONS, **options)
    @outcomes = []
    @requests = 0
    @unsettled = {}
  end

  # @return [Hash] hit: whether the nth call was made; requests: the number of requests; outcomes: [name, verb, outcome,
  #   sent] of each request; wrong: violations
  def run(function, error, nth)
    before = open_now
    WAYS.fetch(:get).call(self, @http) if @kept
    hit = Calls.failing(function, error, nth) { guarded { @way.call(self, @http) } }
    failed = @outcomes.size
    WAYS.fetch(:get).call(self, @http)
    wrong = after_all(failed, before)
    { hit: hit, requests: @requests, outcomes: @outcomes, wrong: wrong }
  end

  # Makes a request, and records its outcome.
  # @yieldparam path [String]
  # @yieldreturn [String] the body
  def call(verb, kind)
    name = next_name
    note(name, verb, outcome(name) { yield("/#{kind}/#{name}") })
  end

  # Does the same as #call for a request that is made together with others.
  # @yieldparam settle [Proc] takes the response or the error
  def later(verb, kind)
    name = next_name
    @unsettled[name] = verb
    settle = lambda do |result|
      @unsettled.delete(name)
      note(name, verb, outcome(name) { result.is_a?(Exception) ? raise(result) : result.body })
    end
    yield("/#{kind}/#{name}", settle)
  end

  private

  def next_name = "#{@name}.#{@requests += 1}"
  def note(name, verb, outcome) = @outcomes << [name, verb, *outcome]

  def outcome(name)
    body = yield
    right = body.start_with?(name) && body.delete_prefix(name).count("^xy").zero?
    [right ? "answered" : "another's answer: #{body[0, 60]}", nil]
  rescue Trunkline::Error, NoMemoryError => error
    [error.class.name, (error.sent if error.respond_to?(:sent)), error.message[0, 200]]
  end

  # When a batch raises as a whole, its error is the outcome of every request that has none yet.
  def guarded
    yield
  rescue Trunkline::Error, NoMemoryError => error
    @unsettled.each { |name, verb| note(name, verb, outcome(name) { raise error }) }
  end

  def after_all(failed, before)
    @http.close
    wrong = []
    after = @outcomes.drop(failed).map { |outcome| outcome[2] }
    wrong << "the next call: #{@outcomes.last.drop(2).inspect}" unless after == ["answered"]
    in_use = Trunkline.stats[:connections_in_use]
    wrong << "#{in_use} connections in use" unless in_use.zero?
    left = nil
    PATIENCE.times { (left = open_now - before).any? ? sleep(0.01) : break }
    wrong << "left open: #{left.inspect}" if left.any?
    wrong
  end

  # Leaves out the epoll instance of the futures' thread, which keeps it open while the thread lingers.
  def open_now
    LeakCheck.descriptors.to_a.reject do |_, target|
      LeakCheck::KEPT.match?(target) || (@future && target == "anon_inode:[eventpoll]")
    end
  end
end
