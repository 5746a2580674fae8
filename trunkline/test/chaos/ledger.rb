# frozen_string_literal: true

require "set"
require "timeout"

# Records the outcome of each call, as its caller saw it; and, when all calls are over, compares the outcomes with the
# requests that the origin recorded.
class Ledger
  TOTAL = 2.0 # seconds that a call may take
  LATE = 5.0  # seconds that the machine, the garbage collector and other threads may add

  # The exception that the chaos test raises in a caller's thread.
  Interrupted = Class.new(Exception) # rubocop:disable Lint/InheritException -- nothing must take it for a call's error
  # Exceptions that end a thread at any place. Timeout's exception is one of them: of two exceptions that are raised in
  # a thread at once, CRuby delivers the second at the next interrupt, by which time the first may have ended Timeout's
  # block.
  FROM_OUTSIDE = [Interrupted, Timeout::ExitException].freeze
  # The exception that the chaos test raises in a caller's block.
  Stumbled = Class.new(StandardError)

  # @param requests [String] the path of the file to which the origin writes its requests
  def initialize(requests)
    @requests = requests
    @lock = Mutex.new
    @outcomes = Hash.new(0)
    @unsent = []
    @violations = []
  end

  # Runs one call, which must have one outcome: the response to its own request, or one error.
  #
  # @param name [String] the unique name of the request
  # @yieldreturn [String, nil] the body; nil when the caller left the body unread
  def call(kind, name)
    began = now
    body = yield
    return note("#{kind}: left early") if body.nil?

    note("#{kind}: answered")
    unless body.start_with?(name) && body.delete_prefix(name).count("^xy").zero?
      violation("#{name} got #{body[0,
                                    40].inspect}")
    end
  rescue Trunkline::Error => error
    failed(kind, name, error)
  rescue Timeout::Error, *FROM_OUTSIDE, Stumbled => error
    note("#{kind}: #{error.class.name.split("::").last}")
  ensure
    took = now - began
    violation("#{name} (#{kind}) took #{took.round(1)} s") if took > TOTAL + LATE
  end

  # @param error [Trunkline::Error]
  def failed(kind, name, error)
    note("#{kind}: #{error.class.name.split("::").last}")
    sent = error.sent if error.respond_to?(:sent)
    @lock.synchronize { @unsent << name } if sent == :none
  end

  def note(outcome)
    @lock.synchronize { @outcomes[outcome] += 1 }
  end

  def violation(words)
    @lock.synchronize { @violations << words }
  end

  # @return [Array<String>]
  def violations
    arrived = File.readlines(@requests, chomp: true).map(&:split)
    posts = arrived.filter_map { |verb, name| name if verb == "POST" }
    twice = posts.tally.select { |_, count| count > 1 }
    names = arrived.to_set(&:last)
    @violations + twice.map { |name, count| "POST #{name} arrived #{count} times" } +
      @unsent.grep(names).map { |name| "#{name} was called unsent and arrived" }
  end

  def to_s
    sorted = @outcomes.sort_by { |outcome, count| [-count, outcome] }
    ["#{@outcomes.values.sum} calls", *sorted.map { |outcome, count| "#{count.to_s.rjust(8)}  #{outcome}" }].join("\n")
  end

  private

  def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
end
