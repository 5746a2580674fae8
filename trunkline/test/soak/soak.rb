# frozen_string_literal: true

require "bundler"
require "etc"
require "openssl"
require "set"
require "time"
require "tmpdir"
require_relative "run"
require_relative "servers"
require_relative "verdict"

# Runs several clients in parallel for a long time, each in a separate process, while the servers are restarted and
# get new certificates; see the clients' files for their calls. The clients are sampled each second, and judged at the
# end.
#
#   ruby soak.rb SECONDS [RESULTS_FILE]
#
# With a results file, other clients run in addition to Trunkline, and the results are written to it. Trunkline within
# Falcon is a separate client.
class Soak
  RESTARTS = 30.0 # seconds between two disturbances in a long soak
  KEPT = 120      # samples

  # @param names [Array<String>] names of SoakRun::CLIENTS
  def initialize(seconds, names)
    @seconds = seconds
    @pause = [RESTARTS, seconds / 5.0].min
    @folder = Dir.mktmpdir("trunkline-soak-")
    @servers = SoakServers.new(@folder)
    @names = names
  end

  # @return [Array<String>] violations by Trunkline
  def run
    @servers.start
    @runs = @names.map { |name| SoakRun.new(name, bases, TestCA.ca_file) }
    watch
    left = @runs.to_h { |run| [run.name, run.finish] }
    @runs.each { |run| raise "#{run.name} made nothing" if run.samples.empty? }
    @verdicts = @runs.to_h { |run| [run.name, SoakVerdict.new(run.samples, run.errors, @servers.events, arrived)] }
    @runs.each { |run| say(run) }
    ours = @runs.select { |run| SoakRun::OURS.include?(run.name) }
    ours.flat_map { |run| violations(run, left) } + rotated
  ensure
    @servers.stop
    FileUtils.remove_entry(@folder)
  end

  # @return [Hash]
  def results
    { date: Time.now.utc.iso8601, seconds: @seconds.round, ruby: RUBY_DESCRIPTION, cores: Etc.nprocessors,
      openssl: OpenSSL::OPENSSL_LIBRARY_VERSION, nginx: `nginx -v 2>&1`[%r{nginx/(\S+)}, 1],
      restarts: @servers.events.count { |event| event.kind == :restart }, certificates: @servers.serials.size,
      clients: @runs.map { |run| result(run) } }
  end

  private

  def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
  def arrived = @arrived ||= @servers.arrived_ids.to_set
  def bases = @servers.ports.to_h { |name, port| [name, "#{name == :plain ? "http" : "https"}://localhost:#{port}"] }

  def watch
    began = now
    disturber = Thread.new { disturb(began) }
    at = 0
    while (at += 1) <= @seconds
      sleep([began + at - now, 0].max)
      @runs.each { |run| run.sample(at) }
    end
    disturber.join
  end

  # Restarts and new certificates alternate, with a quiet time at the end.
  def disturb(began)
    %i[restart rotate].cycle do |what|
      sleep @pause
      break if now - began > @seconds - (@pause / 2)

      @servers.public_send(what)
    end
  end

  def violations(run, left)
    (ended_well(run, left) + @verdicts.fetch(run.name).violations).map { |what| "#{run.name}: #{what}" }
  end

  def ended_well(run, left)
    sockets, threads = left[run.name]
    [("ended with #{run.status}" unless run.status.success?), ("made no requests" if run.samples.last[:requests] < 100),
     ("#{sockets} sockets were left open" if sockets.to_i.positive?),
     ("#{threads} threads were left" if threads.to_i > run.samples.map { |sample| sample[:threads] }.max)].compact
  end

  def rotated
    wanted = 1 + @servers.events.count { |event| event.kind == :rotation }
    @servers.serials.size < wanted ? ["#{@servers.serials.size} certificates instead of #{wanted}"] : []
  end

  def say(run)
    last = run.samples.last
    puts "#{run.name}: #{last[:requests]} requests, #{run.errors.size} errors, rises #{@verdicts[run.name].rises}"
    counts = run.errors.map { |error| error.values_at(:error, :sent).compact.join(" ") }.tally
    counts.each { |what, count| puts "#{count.to_s.rjust(8)}  #{what}" }
  end

  def result(run)
    step = (run.samples.size / KEPT.to_f).ceil
    samples = run.samples.each_slice(step).map(&:last)
    columns = samples.first.keys.to_h { |name| [name, samples.map { |sample| sample[name] }] }
    verdict = @verdicts.fetch(run.name)
    { name: run.name, versions: run.versions, requests: run.samples.last[:requests],
      errors: run.errors.map { |error| error[:error] }.tally, unexplained: verdict.unexplained.size,
      rises: verdict.rises, samples: columns }
  end
end

if $PROGRAM_NAME == __FILE__
  file = ARGV[1]
  names = file ? SoakRun::CLIENTS.keys : SoakRun::OURS
  unless SeparateBundle.installed?("soak")
    puts "not run: #{(names - ["trunkline"]).join(", ")}, for gemfiles/soak is not installed"
    names = ["trunkline"]
  end
  soak = Soak.new(Float(ARGV.fetch(0)), names)
  violations = soak.run
  File.write(file, JSON.pretty_generate(soak.results)) if file
  puts violations.first(20), "#{violations.empty? ? 1 : 0} passed, #{violations.size} failed"
  exit(violations.empty?)
end
