# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../support/network_namespace"

# Names with several addresses, and name servers that do not respond, in a network namespace.
class TestNames < TrunklineTest
  # Defines silent(family, address, port = 0), which returns a port that accepts no connection.
  SILENT = <<~RUBY
    def silent(family, address, port = 0)
      full = Socket.new(family, :STREAM)
      full.bind(Addrinfo.tcp(address, port))
      full.listen(0)
      port = full.local_address.ip_port
      connecting = Array.new(16) do
        Socket.new(family, :STREAM).tap { |socket| socket.connect_nonblock(Addrinfo.tcp(address, port), exception: false) }
      end
      ($silent ||= []).push(full, *connecting)
      sleep 0.1
      port
    end
  RUBY
  private_constant :SILENT

  def setup
    skip "namespaces (unshare, ip) are not to be had here" unless NetworkNamespace.available?
    super
  end

  def test_resolve_timeout
    assert_program(<<~RUBY, "Trunkline::ResolveTimeout resolve none 1\n", takes: 0.3)
      start = now
      begin
        Trunkline.get("http://silent.test/", timeout: { resolve: 0.3, total: 5 })
      rescue Trunkline::Error => error
        puts [error.class, error.phase, error.sent, error.attempt].join(" "), now - start
      end
    RUBY
  end

  def test_total_timeout_while_resolving
    assert_program(<<~RUBY, "Trunkline::TotalTimeout resolve\n", takes: 0.3)
      start = now
      begin
        Trunkline.get("http://silent.test/", timeout: 0.3)
      rescue Trunkline::Error => error
        puts [error.class, error.phase].join(" "), now - start
      end
    RUBY
  end

  %w[raise(RuntimeError) kill].each do |way|
    define_method(:"test_#{way[/\w+/]}_while_resolving") do
      assert_program(<<~RUBY, "out\n", takes: 0.3)
        port = respond_forever("127.0.0.1", "right")
        client = Trunkline.new(timeout: 5)
        start = now
        thread = Thread.new { client.get("http://silent.test/") }
        thread.report_on_exception = false
        sleep 0.3
        thread.#{way}
        thread.join rescue nil
        taken = now - start
        abort unless client.get("http://localhost:" + port.to_s).body == "right"
        puts "out", taken
      RUBY
    end
  end

  def test_ctrl_c_while_resolving_beside_another_thread
    assert_program(<<~RUBY, "Interrupt\n", takes: 0.3)
      outside = IO.popen(["sh", "-c", "read line; kill -INT " + Process.pid.to_s], "w")
      Thread.new { sleep }
      sleep 0.1
      start = now
      Thread.new { sleep 0.3 and outside.puts }
      begin
        Trunkline.get("http://silent.test/", timeout: 4)
      rescue Interrupt => interrupt
        puts interrupt.class, now - start
      end
    RUBY
  end

  def test_a_late_dns_response_is_cached_for_the_next_call
    result = run_program(<<~RUBY)
      port = respond_forever("127.0.0.1", "right")
      url = "http://late.test:" + port.to_s
      waiting = Thread.new { Trunkline.get(url, timeout: 0.3) rescue puts($!.class) }
      queries = Array.new(2) { server.recvfrom(512) }
      waiting.join
      queries.each do |query, (_, from, _, host)|
        name = query[12..].b
        record = name[-4, 2] == "\\0\\1".b ? [0xC00C, 1, 1, 60, 4, 127, 0, 0, 1].pack("nnnNnC4") : ""
        head = query[0, 2] + [0x8180, 1, record.empty? ? 0 : 1, 0, 0].pack("n5")
        server.send(head + name + record, 0, host, from)
      end
      sleep 0.3
      puts Trunkline.get(url, timeout: 1).body
    RUBY
    assert_equal "Trunkline::TotalTimeout\nright\n", result.out, result.err
  end

  def test_many_callers_share_a_dns_query
    result = run_program(<<~RUBY)
      threads = Array.new(10) { Thread.new { Trunkline.get("http://asked-once.test/", timeout: 0.5) rescue nil } }
      threads.each(&:join)
      queries = 0
      queries += 1 while server.recvfrom_nonblock(512, exception: false) != :wait_readable
      puts queries
    RUBY
    # One query for each address family.
    assert_operator result.out.to_i, :<=, 2, result.err
  end

  # RFC 8305: the next address is tried after 250 ms, without waiting for the slow one.
  def test_a_silent_first_address_costs_a_quarter_of_a_second
    first, second = both_addresses
    assert_program(<<~RUBY, "second\n", hosts: hosts_of_both, takes: 0.25)
      #{SILENT}
      port = silent(#{first[:family].inspect}, "#{first[:address]}")
      respond_forever("#{second[:address]}", "second", port)
      start = now
      body = Trunkline.get("http://both.test:" + port.to_s, timeout: { connect: 3, total: 5 }).body
      puts body, now - start
    RUBY
  end

  # After 250 ms the call waits for two connections, while other fibers run.
  def test_two_silent_addresses_in_a_fiber
    first, second = both_addresses
    assert_program(<<~RUBY, "Trunkline::ConnectTimeout true\n", hosts: hosts_of_both, takes: 0.6)
      require #{File.expand_path("../support/small_scheduler", __dir__).inspect}
      #{SILENT}
      port = silent(#{first[:family].inspect}, "#{first[:address]}")
      silent(#{second[:family].inspect}, "#{second[:address]}", port)
      turns = 0
      start = now
      Thread.new do
        Fiber.set_scheduler(SmallScheduler.new)
        error = nil
        Fiber.schedule { turns += 1 while error.nil? && sleep(0.01) }
        Fiber.schedule do
          Trunkline.get("http://both.test:" + port.to_s, timeout: { connect: 0.6, total: 5 })
        rescue StandardError => error
          puts [error.class, turns >= 10].join(" "), now - start
        end
      end.join
    RUBY
  end

  def test_a_refusing_first_address_costs_nothing
    second = both_addresses.last
    assert_program(<<~RUBY, "second\n", hosts: hosts_of_both, takes: 0.0)
      port = respond_forever("#{second[:address]}", "second")
      start = now
      puts Trunkline.get("http://both.test:" + port.to_s, timeout: 5).body, now - start
    RUBY
  end

  def test_every_address_is_named_when_all_fail
    result = run_program(<<~RUBY, hosts: hosts_of_both)
      Trunkline.get("http://both.test:9/", timeout: 2) rescue puts($!.class, $!.message)
    RUBY
    assert_match(/\ATrunkline::ConnectError\n/, result.out, result.err)
    ["127.0.0.1:9", "[::1]:9"].each { |address| assert_includes result.out, address }
  end

  # The name server does not respond, so each of these look-ups occupies its thread for 5 s, even if its caller gives
  # up.
  { 24 => 3, 8000 => 0.5 }.each do |count, timeout|
    define_method(:"test_#{count}_unresponsive_names_do_not_delay_another_name") do
      hosts = "127.0.0.1 localhost good.dead.test other.test\n"
      since, result = timed { run_program(beside_dead_names(count, timeout), hosts: hosts) }
      *times, errors = result.out.lines
      assert_equal 3, times.size, result.err
      # The look-ups without an answer slow this process down: some 300 threads start. Queued behind one of them, a name
      # would take 5 s.
      times.each { |time| assert_took 0.0, time.to_f, 1.5, since: since }
      assert_empty errors.split - ["Trunkline::TotalTimeout", "Trunkline::ResolveError"]
    end
  end

  def test_a_fork_does_not_wait_for_a_name_server
    since, result = timed { run_program(<<~RUBY) }
      waiting = Thread.new { Trunkline.get("http://silent.test/", timeout: 3) rescue nil }
      server.recvfrom(512)
      start = now
      child = fork { exit!(0) }
      puts now - start
      Process.wait(child)
    RUBY
    assert_took 0.0, result.out.to_f, 0.1, since: since
  end

  def test_a_moved_name_is_followed_under_steady_traffic
    result = run_program(<<~RUBY, hosts: "127.0.0.1 moving.test\n")
      port = respond_forever("127.0.0.1", "old")
      respond_forever("127.0.0.2", "new", port)
      client = Trunkline.new("http://moving.test:" + port.to_s, timeout: 5, max_age: 0.4)
      puts client.get("/").body
      File.write("/etc/hosts", "127.0.0.2 moving.test\n")
      start = now
      bodies = []
      (bodies << client.get("/").body) && sleep(0.005) until bodies.last == "new" || now - start > 10
      puts bodies.tally.keys.join(" "), client.get("/").body
    RUBY
    assert_equal "old\nold new\nnew\n", result.out, result.err
  end

  private

  # Looks up three good names while the others wait: one of the same domain, one of another domain, one looked up
  # before.
  def beside_dead_names(count, timeout)
    <<~RUBY
      port = respond_forever("127.0.0.1", "right")
      good = ->(host) { Trunkline.get("http://" + host + ":" + port.to_s, timeout: 20).body == "right" or abort }
      good["localhost"]
      errors = []
      waiting = Thread.new do
        urls = Array.new(#{count}) { |i| "http://d" + i.to_s + ".dead.test/" }
        Trunkline.new(timeout: #{timeout}).each(urls, concurrency: 500) { |_, result| errors |= [result.class] }
      end
      sleep 2
      %w[good.dead.test other.test localhost].each do |host|
        start = now
        good[host]
        puts now - start
      end
      waiting.join
      puts errors.join(" ")
    RUBY
  end

  def hosts_of_both = "127.0.0.1 localhost\n::1 both.test\n127.0.0.1 both.test\n"

  # The addresses in the order in which the system's resolver returns them (RFC 6724).
  def both_addresses
    code = "puts Addrinfo.getaddrinfo(\"both.test\", 80, nil, :STREAM).map(&:ip_address)"
    run_program(code, hosts: hosts_of_both).out.split.map do |address|
      { address: address, family: address.include?(":") ? :INET6 : :INET }
    end
  end

  def run_program(code, **options) = NetworkNamespace.run(code, **options)

  # The last line that the program prints is the duration of its call.
  # takes: the expected duration in seconds.
  def assert_program(code, expected, takes:, **options)
    since, result = timed { run_program(code, **options) }
    *lines, took = result.out.lines
    assert_equal expected, lines.join, result.err
    assert_took takes, took.to_f, 0.1, since: since
  end
end
