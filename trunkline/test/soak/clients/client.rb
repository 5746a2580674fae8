# frozen_string_literal: true

require "json"

# A client of the soak, in a separate process: workers in threads, whose counts are printed each second.
#
#   ruby CLIENT BASES CA_FILE
#
# It runs until its standard input ends; then it closes everything, and prints its last line.
class SoakClient
  NAMED = 20 # one of so many requests is a POST with an id, which the servers record

  # Each worker has separate counts, so that no thread waits for another to count.
  Counts = Struct.new(:requests, :errors)

  def self.run(*versions)
    $stdout.sync = true
    new(JSON.parse(ARGV.fetch(0), symbolize_names: true), ARGV.fetch(1)).run(versions.to_h)
  end

  # @param bases [Hash{Symbol => String}] URLs of plain, tls and h2
  def initialize(bases, ca_file)
    @bases = bases
    @ca_file = ca_file
    @workers = []
    @on = true
  end

  def run(versions)
    start
    puts JSON.generate(versions: versions)
    report until $stdin.wait_readable(1)
    @on = false
    @workers.map(&:first).each(&:join)
    stop
    report
    sleep 1.5 # so that the last sample is taken
  end

  private

  def start = raise(NotImplementedError)
  def stop; end

  # @yield repeatedly; the block makes requests, and counts them by `made`
  def work(count = 1)
    count.times do
      counts = Counts.new(0, [])
      number = @workers.size
      thread = Thread.new { (yield counts, number) while @on }
      @workers << [thread, counts]
    end
  end

  # Makes a request: every NAMED-th is a POST with an id.
  #
  # @yieldparam verb [Symbol]
  # @yieldparam path [String]
  # @yieldreturn [Integer] the status
  def one(counts, number)
    count = counts.requests += 1
    id = "#{self.class.name[/\w+$/]}-#{number}-#{count}" if (count % NAMED).zero?
    made(counts, id) do
      if id
        yield(:post, "/echo?id=#{id}")
      else
        yield(:get, count.odd? ? "/small" : "/page")
      end
    end
  end

  def made(counts, id)
    status = yield
    failed(counts, "status #{status}", nil, id) unless status == 200
  rescue StandardError => error
    failed(counts, error.class.name, (error.sent if error.respond_to?(:sent)), id, error.message)
  end

  def failed(counts, name, sent, id, message = nil)
    counts.errors << { at: now, error: name, sent: sent, id: id, message: message.to_s[0, 200] }
    sleep 0.02 # the server may be restarting
  end

  def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

  def report
    errors = @workers.flat_map { |_, counts| counts.errors.shift(counts.errors.size) }
    puts JSON.generate(at: now, requests: @workers.sum { |_, counts| counts.requests }, errors: errors)
  end
end
