# frozen_string_literal: true

require "json"
require "open3"
require "rbconfig"
require_relative "../support/separate_bundle"

# One client of the soak as a process: the lines that it prints each second, and its figures in /proc.
class SoakRun
  ROOT = File.expand_path("../../..", __dir__)
  FOLDER = File.join(__dir__, "clients")
  # The environment of clients that are not in Trunkline's bundle.
  APART = SeparateBundle.environment("soak").freeze
  CLIENTS = { "trunkline" => {}, "falcon" => APART, "net_http_persistent" => APART, "httpx" => APART }.freeze
  OURS = %w[trunkline falcon].freeze # the clients whose violations fail the soak

  attr_reader :name, :samples, :errors, :versions, :status

  def initialize(name, bases, ca_file)
    @name = name
    @samples = []
    @errors = []
    start(bases, ca_file)
    @reported = {}
    @reader = Thread.new { @out.each_line { |line| take(JSON.parse(line, symbolize_names: true)) } }
  end

  # Records the current figures of the process.
  #
  # @param at [Float] seconds since the beginning
  def sample(at)
    sockets, others = open_descriptors.partition { |target| target.start_with?("socket:") }
    status = File.read("/proc/#{@waiter.pid}/status")
    @samples << { at: at.round(1), requests: @reported[:requests].to_i, errors: @errors.size,
                  descriptors: sockets.size + others.size, connections: sockets.size,
                  threads: status[/^Threads:\s+(\d+)/, 1].to_i, rss: status[/^VmRSS:\s+(\d+)/, 1].to_i / 1024 }
  rescue SystemCallError
    nil # the process has ended, as its status will show
  end

  # Makes the process end, and waits until it has.
  # @return [Array(Integer, Integer)] connections and threads left after its last line
  def finish
    @in.close
    left = nil
    until @waiter.join(0.25)
      left = sample(0) && @samples.pop.values_at(:connections, :threads) if @reported[:last]
    end
    @status = @waiter.value
    @reader.join
    left
  end

  private

  def start(bases, ca_file)
    command = [RbConfig.ruby, "-W0", "-I", File.join(ROOT, "trunkline/lib"), File.join(FOLDER, "#{@name}.rb"),
               JSON.generate(bases), ca_file]
    environment = CLIENTS.fetch(@name)
    if environment.empty?
      @in, @out, @waiter = Open3.popen2(*command)
    else
      Bundler.with_unbundled_env { @in, @out, @waiter = Open3.popen2(environment, "bundle", "exec", *command) }
    end
  end

  def take(line)
    return @versions = line[:versions] if line.key?(:versions)

    @errors.concat(line.fetch(:errors))
    @reported = { requests: line.fetch(:requests), last: @in.closed? }
  end

  def open_descriptors
    Dir.children("/proc/#{@waiter.pid}/fd").filter_map do |number|
      File.readlink("/proc/#{@waiter.pid}/fd/#{number}")
    rescue SystemCallError
      nil
    end
  end
end
