# frozen_string_literal: true

require "json"
require "open3"
require "rbconfig"
require_relative "../support/gems_apart"

# One client of the soak as a process: what it tells each second, and what /proc tells of it.
class SoakRun
  ROOT = File.expand_path("../../..", __dir__)
  FOLDER = File.join(__dir__, "clients")
  # For clients that Trunkline's bundle does not have.
  APART = GemsApart.environment("soak").freeze
  CLIENTS = { "trunkline" => {}, "falcon" => APART, "net_http_persistent" => APART, "httpx" => APART }.freeze
  OURS = %w[trunkline falcon].freeze # what is judged

  attr_reader :name, :samples, :errors, :versions, :status

  def initialize(name, bases, ca_file)
    @name = name
    @samples = []
    @errors = []
    start(bases, ca_file)
    @told = {}
    @reader = Thread.new { @out.each_line { |line| take(JSON.parse(line, symbolize_names: true)) } }
  end

  # Notes what the process has now.
  #
  # @param at [Float] seconds since the beginning
  def sample(at)
    sockets, others = open_descriptors.partition { |target| target.start_with?("socket:") }
    status = File.read("/proc/#{@waiter.pid}/status")
    @samples << { at: at.round(1), requests: @told[:requests].to_i, errors: @errors.size,
                  descriptors: sockets.size + others.size, connections: sockets.size,
                  threads: status[/^Threads:\s+(\d+)/, 1].to_i, rss: status[/^VmRSS:\s+(\d+)/, 1].to_i / 1024 }
  rescue SystemCallError
    nil # it has ended, which status tells
  end

  # Tells it to end, and waits for that.
  # @return [Array(Integer, Integer)] descriptors and threads that it had left
  def finish
    @in.close
    left = nil
    until @waiter.join(0.25)
      left = sample(0) && @samples.pop.values_at(:connections, :threads) if @told[:last]
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
    @told = { requests: line.fetch(:requests), last: @in.closed? }
  end

  def open_descriptors
    Dir.children("/proc/#{@waiter.pid}/fd").filter_map do |number|
      File.readlink("/proc/#{@waiter.pid}/fd/#{number}")
    rescue SystemCallError
      nil
    end
  end
end
