# frozen_string_literal: true

require_relative "../test_helper"
require_relative "calls"

# A part of rake failing: allocations and system calls that fail, one at a time, during single calls and batches.
class TestFailing < TrunklineTest
  PROGRAM = File.join(__dir__, "failing.rb")
  RUNS = {
    allocations_of_single_calls: ["upload", "tls", %w[malloc]],
    allocations_of_batches: ["batch", "plain", %w[malloc]],
    allocations_over_http2: ["batch", "h2", %w[malloc]],
    descriptors_and_names: ["get", "tls", %w[socket eventfd getaddrinfo pthread_create]],
    events: ["batch", "plain", %w[epoll_create1 epoll_ctl]],
    events_over_http2: ["batch", "h2", %w[epoll_ctl]],
    bytes_of_batches: ["batch", "h2", %w[send recvmsg]],
    bytes: ["post", "tls", %w[connect send recv]]
  }.freeze

  # Functions that the extension calls only where it uses epoll; with rake poll:test it does not.
  WITH_EPOLL = %w[epoll_create1 epoll_ctl eventfd recvmsg].freeze

  def setup
    skip "there is no LD_PRELOAD with glibc's names here" unless RUBY_PLATFORM.match?(/linux(-gnu)?\z/)
    skip "this extension is built for a sanitizer, which allocates for it" if ENV.key?("LD_PRELOAD")
    super
  end

  RUNS.each do |name, (ways, listeners, functions)|
    define_method(:"test_#{name}_that_fail") do
      skip "this build has no HTTP/2" if listeners == "h2" && !Trunkline::Engine::HTTP2
      called = epoll? ? functions : functions - WITH_EPOLL
      skip "this build calls none of #{functions.join(", ")}" if called.empty?
      out, err, status = run_failing(ways, listeners, called.join(","))
      assert_predicate status, :success?, "#{out}#{err}"
      called.each { |function| assert_match(/\d  #{function} E\w+: Trunkline::/, out, "an error told of it") }
    end
  end

  private

  def epoll? = File.binread($LOADED_FEATURES.grep(%r{/trunkline/trunkline\.}).first).include?("epoll_create1\0")

  def run_failing(*arguments)
    Dir.mktmpdir do |folder|
      command = [RbConfig.ruby, "-W0", "-I", Subprocess::LIB, PROGRAM, *arguments, "300"]
      Subprocess.run_command({ "LD_PRELOAD" => Calls.build(folder) }, command)
    end
  end
end
