# frozen_string_literal: true

require "async"
require "json"
require "open3"
require "timeout"
require "tmpdir"
require "trunkline"
require_relative "../support/leak_check"
require_relative "../support/memory"
require_relative "../support/certificate_authority"
require_relative "callers"
require_relative "ledger"

# Many disturbances at once: callers of all kinds on plain HTTP/1.1, TLS and HTTP/2, through a network that cuts,
# delays, resets and truncates, to an origin that is killed and restarted, while threads are interrupted and killed,
# processes fork, clients are closed in use and the garbage collector compacts. At the end the ledger reports whether
# each call had exactly one outcome, its own, within its time limit; and the processes are checked for leaks.
#
#   ruby chaos.rb SECONDS [SEED]
class Chaos
  RESTARTS = 2.0..5.0 # seconds between two restarts of the origin
  LISTENERS = { "plain" => "http", "tls" => "https", "h2c" => "http", "h2" => "https" }.freeze
  MEMORY = 48 * 1024 * 1024 # bytes by which a process may grow after the first third: fragments of malloc's arenas

  def initialize(seconds, seed)
    @seconds = seconds
    @seed = seed
    @random = Random.new(seed)
    @folder = Dir.mktmpdir("trunkline-chaos-")
    @ledger = Ledger.new(requests)
    @parent_exit_pipe = IO.pipe # its end of file tells the other processes that this one has ended
  end

  # @return [Array<String>] violations
  def run
    puts "seed #{@seed}, #{@seconds} s"
    start_origin
    start_network
    Timeout.timeout(1) { nil } # starts Timeout's thread, which stays
    before = state
    @until = now + @seconds
    settled = run_callers
    puts @ledger
    @ledger.violations + leaks(before, settled)
  ensure
    [@origin, @network].compact.each { |pid| finish(pid) }
    @parent_exit_pipe.each(&:close)
    FileUtils.remove_entry(@folder)
  end

  # @return [Boolean] whether callers continue
  def on? = now < @until

  private

  def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
  def requests = File.join(@folder, "requests")
  def ports = File.join(@folder, "origin.json")

  def start_origin
    FileUtils.rm_f(ports) unless @network # the network reads the file for each connection
    @origin = start("origin.rb", ports, requests, TestCA.certificate_file(:localhost), TestCA.key_file(:localhost))
  end

  def start_network
    ours = File.join(@folder, "network.json")
    @network = start("network.rb", ports, ours, wait: ours)
    @ports = JSON.parse(File.read(ours))
  end

  # @return [Integer] the process id, once the process has written its file
  def start(program, *arguments, wait: ports)
    before = File.exist?(wait) ? File.mtime(wait) : nil
    pid = Process.spawn(RbConfig.ruby, "-W0", File.join(__dir__, program), @random.rand(2**31).to_s, *arguments,
                        in: @parent_exit_pipe.first, pgroup: true)
    limit = now + 20
    until File.exist?(wait) && File.mtime(wait) != before
      abort "#{program} did not start" if now > limit || Process.wait(pid, Process::WNOHANG)

      sleep 0.02
    end
    pid
  end

  def finish(pid)
    Process.kill(:KILL, pid)
    Process.wait(pid)
  rescue Errno::ESRCH, Errno::ECHILD
    nil
  end

  def bases = LISTENERS.to_h { |name, scheme| [name, "#{scheme}://localhost:#{@ports.fetch(name)}"] }

  # @return [Integer] resident bytes after a third of the time
  def run_callers
    callers = Callers.new(self, @ledger, @random, bases, TestCA.ca_file)
    threads = callers.start
    third = @until - (@seconds * 2.0 / 3)
    memory = nil
    while on?
      sleep(@random.rand(RESTARTS).clamp(0.1, [@until - now, 0.1].max))
      memory ||= Memory.resident_bytes if now > third
      finish(@origin)
      start_origin
    end
    threads.each do |thread|
      @ledger.violation("a caller goes on for ever: #{thread.backtrace&.first(4)}") unless thread.join(60)
    end
    callers.close
    memory || Memory.resident_bytes
  end

  def state = [LeakCheck.descriptors.values.tally, Thread.list.size]

  def leaks(before, settled)
    left = nil
    50.times do
      GC.start
      left = left_since(before)
      break if left.empty?

      sleep 0.1
    end
    grown = Memory.resident_bytes - settled
    left << "memory grew by #{grown / 1024} KB" if grown > MEMORY
    left
  end

  def left_since((descriptors, threads))
    open = state.first.to_a.sum { |target, count| LeakCheck::KEPT.match?(target) ? 0 : [count - descriptors.fetch(target, 0), 0].max }
    in_use = Trunkline.stats[:connections_in_use]
    [("#{open} descriptors more than before" if open.positive?),
     ("#{Thread.list.size - threads} threads more than before" if Thread.list.size > threads),
     ("#{in_use} connections in use" if in_use.positive?)].compact
  end
end

if $PROGRAM_NAME == __FILE__
  seconds = Float(ARGV.fetch(0, 60))
  seed = Integer(ARGV.fetch(1, Random.new_seed % (2**31)))
  violations = Chaos.new(seconds, seed).run
  puts violations.first(20), "#{violations.empty? ? 1 : 0} passed, #{violations.size} failed"
  exit(violations.empty?)
end
