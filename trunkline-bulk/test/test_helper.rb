# frozen_string_literal: true

require "minitest/autorun"
require "tmpdir"
require "trunkline/bulk"
require_relative "support/counting_server"
require_relative "support/programs"

# Each test has a separate folder, which contains its state.
class BulkTest < Minitest::Test
  def setup
    @folder = Dir.mktmpdir("trunkline-bulk-")
    @servers = []
  end

  def teardown
    @servers.each(&:stop)
    Trunkline::Bulk::State::SQLite.forget(state)
    FileUtils.rm_rf(@folder)
  end

  private

  def state = path("state.sqlite")

  def path(name) = File.join(@folder, name)

  def serve(port = 0, &responder)
    CountingServer.new(port, &responder).tap { |server| @servers << server }
  end

  # An anonymous bulk class that reports the name "TestedBulk".
  def bulk(items = nil, **options, &result)
    Class.new(Trunkline::Bulk) do
      define_singleton_method(:name) { "TestedBulk" }
      source { items } if items
      request { |url| url }
      options timeout: 5, **options unless options.empty?
      result(&result || ->(*) {})
    end
  end

  def run_bulk(bulk, name = "run", **given) = bulk.start(name, state: state, progress: false, **given)

  def eventually(what, seconds = 20)
    limit = Process.clock_gettime(Process::CLOCK_MONOTONIC) + seconds
    until (found = yield)
      flunk "not within #{seconds} s: #{what}" if Process.clock_gettime(Process::CLOCK_MONOTONIC) > limit
      sleep 0.02
    end
    found
  end
end
