# frozen_string_literal: true

require_relative "child_server"
require_relative "memory"
require_relative "clock_jitter"

# Checks after each test that the process has the same descriptors and threads as before, once clients and servers of
# the test are closed.
module LeakCheck
  # Seconds, in addition to the machine's delay: less than the time after which idle connections and threads end by
  # themselves.
  SOON = 3.0
  # Seconds between collections while waiting, for descriptors that are closed with their objects.
  COLLECTING = 0.25

  # Descriptors that are kept on purpose, in bounded number: the engine's wake-up descriptors (one for each concurrent
  # call, of which 64 at most are kept; without eventfd they are pipes), the key logs of remembered TLS options, and the
  # tables of the mime types. JRuby keeps its selectors (those for a pair of sockets have a pipe), the jars of gems, and
  # until a collection the files of Rack's multipart parser.
  OF_JRUBY = RUBY_ENGINE == "jruby" ? /anon_inode:\[event(?:poll|fd)\]|pipe:\[\d+\]|.+\.jar|.+RackMultipart.+/ : /(?!)/
  WAKE_UP = ENV.key?("TRUNKLINE_POLL") ? /pipe:\[\d+\]/ : /anon_inode:\[eventfd\]/
  # The engine in Ruby keeps some threads: one that closes idle connections, and some that look up names.
  KEPT_THREADS = /\Atrunkline (?:reaper|names)\z/
  # On JRuby an Enumerator's Fiber is a thread until it is collected; version 10 has threads for finalizers and its
  # compiler.
  THREADS_OF_JRUBY = /Fiber thread for block|@Finalizer|@Ruby-\d+-JIT-/
  KEPT = /\A(#{WAKE_UP}|#{OF_JRUBY}|.+keys\.log( \(deleted\))?|.+mime\.db)\z/

  def self.descriptors
    Dir.children("/proc/self/fd").filter_map do |number|
      [number.to_i, File.readlink("/proc/self/fd/#{number}")]
    rescue Errno::ENOENT
      nil # the descriptor that was used to read the directory
    end.to_h
  end

  def setup
    super
    @descriptors_before = LeakCheck.descriptors
    @threads_before = Thread.list
  end

  # Called when everything that the test opened has been closed.
  def check_leaks
    return unless @descriptors_before

    assert_nothing_left("descriptors") { left_open }
    assert_nothing_left("threads") do
      (Thread.list - @threads_before).reject do |thread|
        KEPT_THREADS.match?(thread.name.to_s) || THREADS_OF_JRUBY.match?(thread.inspect)
      end
    end
  end

  private

  def left_open
    exit_pipes = ChildServer::PARENT_EXIT_PIPES.reject(&:closed?).map(&:fileno)
    (LeakCheck.descriptors.to_a - @descriptors_before.to_a).reject do |number, target|
      KEPT.match?(target) || exit_pipes.include?(number)
    end
  end

  # A descriptor that another thread closes may need a moment.
  def assert_nothing_left(what)
    begun = collected = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    until (left = yield).empty?
      now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      break if now - begun > SOON + ClockJitter.lateness(now - begun)

      if what == "descriptors" && now - collected > COLLECTING
        Memory.collect
        collected = now
      end
      sleep 0.01
    end
    assert_empty left, "#{what} left by #{self.class}##{name}"
  end
end
