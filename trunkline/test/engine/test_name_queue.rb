# frozen_string_literal: true

require_relative "../test_helper"

# The queue of names of the engine in Ruby, with look-ups that hang. TestNames has tests of both engines.
class TestNameQueue < TrunklineTest
  # Look-ups of these names hang.
  HANGING = <<~RUBY
    NAMES = Trunkline::Engine::Ruby::Names
    original = Addrinfo.method(:getaddrinfo)
    Addrinfo.singleton_class.send(:remove_method, :getaddrinfo)
    Addrinfo.define_singleton_method(:getaddrinfo) do |host, *rest|
      next sleep if host.end_with?(".dead.test", ".gone.test")

      original.call(host.end_with?(".good.test") ? "127.0.0.1" : host, *rest)
    end

    def queue = NAMES.instance_variable_get(:@queue)

    # Begins the look-ups of names, whose calls wait until it returns.
    def hang(domain, count)
      urls = Array.new(count) { |number| "http://n\#{number}.\#{domain}/" }
      limits = { concurrency: count, max_in_flight: count }
      Thread.new { Trunkline.new(timeout: 9).each(urls, **limits) { |_, error| (@errors ||= []) << error } }
    end

    def wait_until
      Timeout.timeout(10) { sleep(0.02) until yield }
    end

    def running(domain)
      NAMES.instance_variable_get(:@pending).values.count { |name| !name.queued && name.host.end_with?(domain) }
    end

    def seconds
      start = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      yield
      Process.clock_gettime(Process::CLOCK_MONOTONIC) - start
    end

    def get(host) = Trunkline.get("http://\#{host}:\#{ENV.fetch("PORT")}/", timeout: 3).status
  RUBY

  # A name with what the queue needs of it.
  Name = Struct.new(:host, :known, :domain)

  def setup
    skip "it is the engine in Ruby's" unless Trunkline::ENGINE == :ruby
    super
    @queue = Trunkline::Engine::Ruby::NameQueue.new
  end

  def test_domains_take_turns
    add("a.one.test", "b.one.test", "a.two.test", "localhost")
    assert_equal %w[b.one.test a.two.test localhost a.one.test], Array.new(4) { @queue.take(0.0).host }
    assert_equal 0, @queue.size
  end

  def test_the_newest_name_goes_first_and_every_fourth_time_the_oldest
    add(*Array.new(8) { |number| "#{number}.one.test" })
    assert_equal %w[7 6 5 0 4 3 2 1], Array.new(8) { @queue.take(0.0).host[0] }
  end

  def test_look_ups_of_a_domain_are_paced_and_limited
    names = add(*Array.new(400) { |number| "#{number}.one.test" })
    32.times { assert_includes names, @queue.take(5.0) }
    assert_in_delta 5.02, @queue.take(5.0)
    (33..288).each { |number| assert_includes names, @queue.take(number) }
    assert_equal Float::INFINITY, @queue.take(1000.0)
    other = add("a.two.test").first
    assert_equal other, @queue.take(1000.0)
    taken = names.find { |name| name.host.start_with?("399.") }
    @queue.finished(taken)
    assert_includes names, @queue.take(1000.0)
  end

  def test_the_last_threads_are_for_names_that_were_resolved_before
    304.times { |number| assert_equal add("a.d#{number}.test").first, @queue.take(0.0) }
    add("a.unknown.test")
    assert_equal Float::INFINITY, @queue.take(0.0)
    known = add("a.known.test", known: true).first
    assert_equal known, @queue.take(0.0)
    @queue.finished(known)
    16.times { |number| assert_kind_of Name, add("a.k#{number}.test", known: true) && @queue.take(0.0) }
    add("b.known.test", known: true)
    assert_equal Float::INFINITY, @queue.take(0.0), "all threads are in use"
  end

  def test_the_oldest_name_of_the_domain_is_dropped
    first, _, newest = add("a.one.test", "b.one.test", "c.one.test")
    assert_equal first, @queue.surplus(newest)
    alone = add("a.two.test").first
    assert_equal first, @queue.surplus(alone), "it is the turn of one.test"
    @queue.remove(first)
    assert_equal 3, @queue.size
  end

  def test_hanging_names_do_not_delay_others
    output = output_of(<<~RUBY)
      get("old.good.test")
      waiting = [hang("dead.test", 320), hang("gone.test", 320)]
      wait_until { running(".dead.test") + running(".gone.test") == 304 }
      NAMES.forget("localhost")
      puts seconds { get("localhost") }, seconds { get("127.0.0.1") }, seconds { get("old.good.test") }
      waiting.each(&:kill)
    RUBY
    assert_equal 3, output.lines.size, output
    output.lines.each { |seconds| assert_took 0.0, seconds.to_f, 1.0 }
  end

  def test_a_hanging_domain_does_not_take_all_threads
    output = output_of(<<~RUBY)
      waiting = hang("dead.test", 330)
      wait_until { running(".dead.test") >= 288 }
      puts seconds { get("new.good.test") }, running(".dead.test")
      waiting.kill
    RUBY
    assert_took 0.0, output.lines.first.to_f, 1.0
    assert_equal "288", output.lines[1].chomp
  end

  def test_a_name_leaves_the_queue_with_the_last_call_that_waits_for_it
    output = output_of(<<~RUBY)
      waiting = hang("dead.test", 100)
      wait_until { queue.size > 0 }
      waiting.kill.join
      wait_until { queue.size == 0 }
      puts NAMES.instance_variable_get(:@pending).values.none?(&:queued)
    RUBY
    assert_equal "true\n", output
  end

  def test_the_oldest_queued_name_fails_when_the_queue_is_full
    output = output_of(<<~RUBY)
      Trunkline::Engine::Ruby::Limits.send(:remove_const, :NAMES_QUEUED)
      Trunkline::Engine::Ruby::Limits.const_set(:NAMES_QUEUED, 5)
      waiting = hang("dead.test", 45)
      wait_until { @errors&.any? }
      puts queue.size <= 5, @errors.map(&:class).uniq, @errors.first.message
      waiting.kill
    RUBY
    assert_match(/\Atrue\nTrunkline::ResolveError\n.*: more than 5 names wait to be looked up/, output)
  end

  private

  def add(*hosts, known: false)
    hosts.map { |host| Name.new(host, known).tap { |name| @queue.add(name) } }
  end

  def output_of(code)
    server = serve { |connection| connection << response_bytes while connection.read_request }
    result = Subprocess.run("require \"timeout\"\n#{HANGING}#{code}", { "PORT" => server.port.to_s })
    assert_predicate result.status, :success?, result.err
    result.out
  end
end
