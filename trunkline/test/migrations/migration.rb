# frozen_string_literal: true

require "fileutils"
require "json"
require "open3"
require "socket"
require "tmpdir"
require_relative "../support/separate_bundle"

# A small Rails application that uses another client, in a separate folder: a copy of skeleton/ and of that client's
# folder, and, once it has migrated, with its migration.diff applied.
class Migration
  ROOT = File.expand_path("../../..", __dir__)
  CLIENTS = %w[faraday httparty typhoeus].freeze
  ENVIRONMENT = { **SeparateBundle.setup_environment("migrations"), "http_proxy" => nil, "HTTP_PROXY" => nil }.freeze

  # Counts in rspec's summary that must be zero.
  BAD = %w[failure_count pending_count errors_outside_of_examples_count].freeze

  attr_reader :folder

  # @param client [String] one of CLIENTS
  # @yield [Migration] whose folder is removed when the block ends
  def self.of(client)
    Dir.mktmpdir("trunkline-#{client}-") { |folder| yield new(client, folder) }
  end

  def initialize(client, folder)
    @client = client
    @folder = folder
    ["skeleton", client].each { |name| FileUtils.cp_r("#{__dir__}/#{name}/.", folder) }
  end

  # Applies the changes that docs/switching.md describes.
  # @return [Migration] itself
  def move
    output, status = Open3.capture2e("git", "apply", "migration.diff", chdir: @folder)
    raise output unless status.success?

    self
  end

  # Runs the application's specs.
  # @return [Array(Hash, String)] rspec's summary, and its output
  def specs
    output, = Open3.capture2e(ENVIRONMENT, "rspec", "--format", "documentation", "--format", "json", "--out",
                              "specs.json", chdir: @folder)
    [JSON.parse(File.read(File.join(@folder, "specs.json")))["summary"], output]
  end

  # Serves the application in production mode, with three threads.
  # @param catalog [String] URL of the service that it calls
  # @param environment [Hash]
  # @yield [String] the application's URL
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
