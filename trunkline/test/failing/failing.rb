# frozen_string_literal: true

require "async"
require "set"
require_relative "../support/certificate_authority"
require_relative "attempt"

# Makes each allocation and each system call of the engine during a call fail once: the nth, for each n until fewer are
# made. No process may crash or hang; each request has one outcome, which is its own response or an error of a matching
# class with a true `sent`; no POST may arrive twice; no descriptor may stay open; and the next call must get its
# response.
#
#   LD_PRELOAD=calls.so ruby failing.rb WAYS LISTENERS FUNCTIONS MOST    (lists with commas, or "all")
#
# MOST bounds n.
class Failing
  LIMIT = 20 # seconds within which an attempt must end
  LISTENERS = { "plain" => "http", "tls" => "https", "h2" => "https" }.freeze
  # Functions that are called again after a harmless error, so that the call must succeed.
  AGAIN = %w[send recv recvmsg read write writev epoll_wait poll ppoll].freeze
  # The error classes that match a lack of memory or descriptors, or a refusal by the system.
  RIGHT = {
    "malloc" => %w[Trunkline::Error NoMemoryError Trunkline::TLSError Trunkline::ResolveError Trunkline::ConnectError],
    "getaddrinfo" => %w[Trunkline::ResolveError], "pthread_create" => %w[Trunkline::ResolveError Trunkline::Error]
  }.freeze
  RIGHT_OTHERWISE = %w[Trunkline::ConnectError Trunkline::ConnectionClosed Trunkline::TLSError Trunkline::TruncatedBody
                       Trunkline::Error].freeze

  def initialize(ways, listeners, calls, most)
    @plan = ways.product(listeners, [false, true])
    @calls = calls
    @most = most
    @folder = Dir.mktmpdir("trunkline-failing-")
    @wrong = []
    @seen = []
    @tally = Hash.new(0)
    @attempts = 0
  end

  # @return [Array<String>] violations
  def run
    start_origin
    @plan.each { |way, listener, kept| @calls.each { |name, error| each_call(way, listener, kept, name, error) } }
    puts "#{@attempts} attempts, #{@seen.size} requests"
    @tally.sort.each { |what, count| puts "#{count.to_s.rjust(7)}  #{what}" }
    @wrong + against_origin
  ensure
    Process.kill(:KILL, @origin) && Process.wait(@origin) if @origin
    FileUtils.remove_entry(@folder)
  end

  private

  def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
  def requests = File.join(@folder, "requests")

  def start_origin
    ports = File.join(@folder, "ports.json")
    pipe_end, @parent_exit_pipe = IO.pipe # its end of file tells the origin that this process has ended
    FileUtils.touch(requests)
    program = File.join(__dir__, "../chaos/origin.rb")
    files = [requests, TestCA.certificate_file(:localhost), TestCA.key_file(:localhost)]
    @origin = Process.spawn({ "LD_PRELOAD" => nil }, RbConfig.ruby, "-W0", program, "1", ports, *files, in: pipe_end)
    limit = now + 20
    sleep 0.02 until File.exist?(ports) || now > limit
    @ports = JSON.parse(File.read(ports))
  end

  def each_call(way, listener, kept, name, error)
    1.upto(@most) do |nth|
      label = "#{way}-#{listener}-#{kept ? "kept" : "new"}-#{name}-#{error.name.split("::").last}-#{nth}"
      result = attempt(way, listener, kept, label) { |attempt| attempt.run(name, error, nth) }
      break judge(label, name, error, result) unless result["hit"]

      judge(label, name, error, result)
    end
  end

  # @return [Hash] the result of Attempt#run in a separate process
  def attempt(way, listener, kept, label)
    @attempts += 1
    reader, writer = IO.pipe
    pid = fork do
      base = "#{LISTENERS.fetch(listener)}://localhost:#{@ports.fetch(listener)}"
      options = { ca_file: TestCA.ca_file, **(listener == "h2" ? { http: :h2 } : {}) }
      writer.write(JSON.generate(yield(Attempt.new(way, base, label, kept: kept, **options))))
      exit!(0)
    rescue Exception => error # rubocop:disable Lint/RescueException -- reported to the parent
      writer.write(JSON.generate(hit: true, requests: 0, outcomes: [], wrong: [error.full_message(highlight: false)]))
      exit!(0)
    end
    writer.close
    ended(reader, pid)
  end

  def ended(reader, pid)
    report = reader.read if reader.wait_readable(LIMIT)
    Process.kill(:KILL, pid) unless report
    status = Process.wait2(pid).last
    return JSON.parse(report) if report && !report.empty?

    { "hit" => true, "requests" => 0, "outcomes" => [],
      "wrong" => [report ? "crashed: #{status}" : "did not end within #{LIMIT} s"] }
  ensure
    reader.close
  end

  def judge(label, name, error, result)
    wrong = result["wrong"]
    outcomes = result["outcomes"]
    settled = outcomes.map(&:first).uniq.size
    wrong << "#{result["requests"]} requests, #{settled} outcomes" if settled != result["requests"]
    outcomes.each do |request, verb, outcome, sent, message|
      @seen << [request, verb, outcome, sent]
      @tally["#{name} #{error.name.split("::").last}: #{outcome} #{sent}"] += 1 if result["hit"]
      next if outcome == "answered"

      wrong << "#{outcome} (#{sent}): #{message}" unless result["hit"] && right?(name, error, outcome)
    end
    @wrong.concat(wrong.map { |what| "#{label}: #{what}" })
  end

  def right?(name, error, outcome)
    return false if AGAIN.include?(name) && Calls::HARMLESS.include?(error)

    RIGHT.fetch(name, RIGHT_OTHERWISE).include?(outcome)
  end

  # @return [Array<String>]
  def against_origin
    arrived = File.readlines(requests, chomp: true).tally
    posted_twice = arrived.select { |request, count| count > 1 && request.start_with?("POST ") }
    untrue = @seen.select { |name, verb, _, sent| sent == "none" && arrived.key?("#{verb} #{name}") }
    posted_twice.map { |request, count| "#{request} arrived #{count} times" } +
      untrue.map { |name, *| "#{name} was called unsent and arrived" }
  end
end

if $PROGRAM_NAME == __FILE__
  abort "LD_PRELOAD has no calls.so: rake failing" unless Calls.preloaded?
  ways, listeners, names, most = ARGV
  list = ->(given, all) { given == "all" ? all : given.split(",") }
  ways = list.call(ways, Attempt::WAYS.keys).map(&:to_sym)
  listeners = list.call(listeners, Failing::LISTENERS.keys)
  chosen = list.call(names, Calls::ALL.map(&:first))
  calls = Calls::ALL.select { |name, _error| chosen.include?(name) } # rubocop:disable Style/HashSlice -- no Hash
  wrong = Failing.new(ways, listeners, calls, Integer(most)).run
  puts wrong.uniq { |what| what.gsub(/\d+/, "") }.first(60), "#{wrong.empty? ? 1 : 0} passed, #{wrong.size} failed"
  exit(wrong.empty?)
end
