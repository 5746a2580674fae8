# frozen_string_literal: true

require_relative "child_server"
require_relative "memory"
require_relative "metronome"

# After each test the process has the descriptors and the threads that it had before, once clients and servers
# of the test are closed.
module LeakCheck
  # Seconds, beside what the machine is late: less than what closes idle connections and threads by itself.
  SOON = 3.0
  # Seconds between collections meanwhile, for descriptors that go with their objects.
  COLLECTING = 0.25

  # Kept on purpose, and bounded: the engine's wake-up descriptors (one for each call under way at the same time, 64
  # at most are kept; without eventfd they are pipes), the key logs of TLS options it remembers, the tables of the mime
  # types.
  # JRuby keeps its selectors (those for a pair of sockets have a pipe), the jars of gems, and until a collection the
  # files of Rack's multipart parser.
  OF_JRUBY = RUBY_ENGINE == "jruby" ? /anon_inode:\[event(?:poll|fd)\]|pipe:\[\d+\]|.+\.jar|.+RackMultipart.+/ : /(?!)/
  WAKE_UP = ENV.key?("TRUNKLINE_POLL") ? /pipe:\[\d+\]/ : /anon_inode:\[eventfd\]/
  # The engine in Ruby has some threads of its own: one that closes idle connections, and some that look up names.
  KEPT_THREADS = /\Atrunkline (?:reaper|names)\z/
  # An Enumerator's Fiber is a thread on JRuby, until it is collected; version 10 has threads for finalizers and its
  # compiler.
  THREADS_OF_JRUBY = /Fiber thread for block|@Finalizer|@Ruby-\d+-JIT-/
  KEPT = /\A(#{WAKE_UP}|#{OF_JRUBY}|.+keys\.log( \(deleted\))?|.+mime\.db)\z/

  def self.descriptors
    Dir.children("/proc/self/fd").filter_map do |number|
      [number.to_i, File.readlink("/proc/self/fd/#{number}")]
    rescue Errno::ENOENT
      nil # the descriptor with which the directory itself was read
    end.to_h
  end

  def setup
    super
    @descriptors_before = LeakCheck.descriptors
    @threads_before = Thread.list
  end

  # Called when everything of the test has been closed.
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
    lifelines = ChildServer::LIFELINES.reject(&:closed?).map(&:fileno)
    (LeakCheck.descriptors.to_a - @descriptors_before.to_a).reject do |number, target|
      KEPT.match?(target) || lifelines.include?(number)
    end
  end

  # Something closed by another thread may need a moment to be gone.
  def assert_nothing_left(what)
    begun = collected = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    until (left = yield).empty?
      now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      break if now - begun > SOON + Metronome.lateness(now - begun)

      if what == "descriptors" && now - collected > COLLECTING
        Memory.collect
        collected = now
      end
      sleep 0.01
    end
    assert_empty left, "#{what} left by #{self.class}##{name}"
  end
end
