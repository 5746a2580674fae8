# frozen_string_literal: true

require "fileutils"
require "json"
require "open3"
require "socket"
require "tmpdir"
require_relative "../support/gems_apart"

# A small Rails application on another client, in a folder of its own: skeleton/ with what is in the folder of that
# client, and, once it has moved, with its migration.diff.
class Migration
  ROOT = File.expand_path("../../..", __dir__)
  CLIENTS = %w[faraday httparty typhoeus].freeze
  ENVIRONMENT = { **GemsApart.setup_environment("migrations"), "http_proxy" => nil, "HTTP_PROXY" => nil }.freeze

  # Of rspec's summary.
  BAD = %w[failure_count pending_count errors_outside_of_examples_count].freeze

  attr_reader :folder

  # @param client [String] of CLIENTS
  # @yield [Migration] its folder goes when the block ends
  def self.of(client)
    Dir.mktmpdir("trunkline-#{client}-") { |folder| yield new(client, folder) }
  end

  def initialize(client, folder)
    @client = client
    @folder = folder
    ["skeleton", client].each { |name| FileUtils.cp_r("#{__dir__}/#{name}/.", folder) }
  end

  # Changes what docs/switching.md says is to be changed.
  # @return [Migration] itself
  def move
    output, status = Open3.capture2e("git", "apply", "migration.diff", chdir: @folder)
    raise output unless status.success?

    self
  end

  # Runs its specs.
  # @return [Array(Hash, String)] rspec's summary, and what it printed
  def specs
    output, = Open3.capture2e(ENVIRONMENT, "rspec", "--format", "documentation", "--format", "json", "--out",
                              "specs.json", chdir: @folder)
    [JSON.parse(File.read(File.join(@folder, "specs.json")))["summary"], output]
  end

  # Serves it in production, with three threads.
  # @param catalog [String] URL of the service that it asks
  # @param environment [Hash]
  # @yield [String] its URL
  def serve(catalog, environment = {})
    port = TCPServer.open("127.0.0.1", 0) { |server| server.addr[1] }
    environment = { **ENVIRONMENT, "RAILS_ENV" => "production", "CATALOG_URL" => catalog, **environment }
    command = ["puma", "--threads", "3:3", "--bind", "tcp://127.0.0.1:#{port}"]
    pid = spawn(environment, *command, chdir: @folder, out: File::NULL)
    wait_for(port)
    yield "http://127.0.0.1:#{port}"
  ensure
    Process.kill(:TERM, pid) && Process.wait(pid) if pid
  end

  private

  def wait_for(port, seconds: 30)
    limit = Process.clock_gettime(Process::CLOCK_MONOTONIC) + seconds
    begin
      TCPSocket.new("127.0.0.1", port).close
    rescue Errno::ECONNREFUSED
      raise "the application of #{@client} did not start" if Process.clock_gettime(Process::CLOCK_MONOTONIC) > limit

      sleep 0.1
      retry
    end
  end
end
