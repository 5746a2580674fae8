# frozen_string_literal: true

require "ipaddr"
require_relative "../test_helper"
require_relative "../support/http2/frame_server"
require_relative "../support/network_namespace"
require_relative "../support/call_styles"

# The option egress: every request to an address that is not public is refused before anything is sent.
class TestEgress < TrunklineTest
  include CallStyles

  LOOPBACK = { allow: ["127.0.0.0/8"] }.freeze

  def test_no_address_is_refused_without_egress
    server = serve(response_bytes("ok"))
    [nil, false].each { |egress| assert_equal "ok", client(server.url, egress: egress).get("/").body }
  end

  def test_the_error_names_address_and_rule_and_reports_nothing_sent
    server = serve(response_bytes)
    http = client(server.url, egress: :public)
    each_call_style do |style, call|
      error = call.call(http, :get, "/")
      assert_instance_of Trunkline::EgressRefused, error, style
      assert_kind_of Trunkline::ConnectionError, error
      assert_equal [:none, :connect, 1], [error.sent, error.phase, error.attempt], style
      assert_includes error.message, "127.0.0.1 is loopback (127.0.0.0/8, RFC 1122)"
    end
    assert_equal 0, server.connection_count
    assert_equal "ok", http.get("/", egress: nil).body
  end

  # Addresses, in notations that have led servers to connect to themselves, their networks and their cloud's services.
  BYPASSES = %w[
    127.0.0.1 127.0.0.2 127.127.127.127 0.0.0.0 0.0.0.1 10.0.0.1 172.16.0.1 172.31.255.255 192.168.0.1 169.254.169.254
    169.254.170.2 100.100.100.200 192.0.0.192 168.63.129.16 100.64.0.1 198.18.0.1 224.0.0.1 240.0.0.1 255.255.255.255
    [::] [::1] [0:0:0:0:0:0:0:1] [0000:0000:0000:0000:0000:0000:0000:0001] [::ffff:127.0.0.1] [::ffff:7f00:1]
    [0:0:0:0:0:ffff:127.0.0.1] [::127.0.0.1] [::ffff:0:127.0.0.1] [::ffff:169.254.169.254] [::ffff:a9fe:a9fe]
    [64:ff9b::7f00:1] [64:ff9b::169.254.169.254] [64:ff9b:1::10.0.0.1] [2002:7f00:1::] [2002:a9fe:a9fe::]
    [2001:0:7f00:1::] [2606:4700::5efe:10.0.0.1] [fc00::1] [fd00:ec2::254] [fd20:ce::254] [fe80::1] [fec0::1] [ff02::1]
  ].freeze
  # Hosts that no URL may have: a resolver might read them as an address that the check did not see.
  ODD = %w[
    127.1 127.0.1 2130706433 0x7f000001 0x7f.1 0x7f.0.0.1 017700000001 0177.0.0.1 0177.1 127.0.0.1.1 127.0.0.0x1 0
    0xa9fea9fe 2852039166 0251.0376.0251.0376 425.510.425.510 00000177.1 0x100000000 [::1%25lo] [fe80::1%25eth0]
    [::ffff:127.1] [::ffff:0x7f.1] 127.0.0.1%20 127.0.0.1%00 %31%32%37.1 127。0。0。1.1 127.0.0.1#@public.test
    public.test\\@127.0.0.1 127.0.0.1:80:80
  ].freeze

  BYPASSES.each do |host|
    define_method(:"test_refuses_#{host}") do
      http = client("http://public.test", egress: :public)
      errors = [result_of { http.get("http://#{host}:9/") },
                result_of { http.get("/", connect_to: "#{host}:9") },
                result_of { http.get("http://#{host}:9/", proxy: "http://127.0.0.1:9", egress: { proxy: true }) }]
      assert_equal [Trunkline::EgressRefused], errors.map(&:class).uniq
    end
  end

  def test_an_odd_notation_is_no_address_that_is_not_seen
    server = serve(response_bytes)
    http = client(egress: :public, timeout: 2)
    ODD.each do |host|
      error = result_of { http.get("http://#{host}:#{server.port}/") }
      assert_includes [Trunkline::InvalidRequest, Trunkline::EgressRefused], error.class, host
    end
    assert_equal 0, server.connection_count
  end

  # Full-width and circled characters, which a Unicode mapping turns into an address or a local name.
  def test_an_address_in_other_digits_is_the_address
    server = serve(response_bytes)
    ["１２７.0.0.1", "127。0。0。1", "①②⑦.⓪.⓪.①", "ⓛⓞⓒⓐⓛⓗⓞⓢⓣ"].each do |host|
      error = result_of { client.get("http://#{host}:#{server.port}/", egress: :public) }
      assert_includes [Trunkline::InvalidRequest, Trunkline::EgressRefused], error.class, host
    end
    assert_equal 0, server.connection_count
  end

  def test_a_redirect_does_not_lead_in
    inside = serve(response_bytes("secret"))
    urls = ["http://127.0.0.1:#{inside.port}/", "http://[::ffff:127.0.0.1]:#{inside.port}/",
            "http://localhost:#{inside.port}/"]
    urls.each do |url|
      outside = opened(ScriptedServer.responding(redirect(url), host: "127.0.0.2"))
      http = client(outside.url, follow: 5, egress: { allow: ["127.0.0.2"] })
      error = assert_raises(Trunkline::EgressRefused) { http.get("/") }
      assert_includes error.message, "127.0.0.1 is loopback"
    end
    assert_equal 0, inside.connection_count
  end

  def test_an_idle_connection_is_reused_only_under_permitting_rules
    server = opened(ScriptedServer.responding(response_bytes("ok")))
    http = client(server.url)
    2.times { http.get("/") }
    assert_raises(Trunkline::EgressRefused) { http.get("/", egress: :public) }
    assert_equal "ok", http.get("/", egress: LOOPBACK).body
    assert_raises(Trunkline::EgressRefused) { http.get("/", egress: { **LOOPBACK, deny: ["127.0.0.1"] }) }
    assert_raises(Trunkline::EgressRefused) { http.get("/", egress: { **LOOPBACK, ports: [80, 443] }) }
    assert_equal "ok", http.get("/", egress: { **LOOPBACK, ports: [server.port] }).body
    assert_equal 3, server.connection_count
  end

  def test_an_http2_connection_is_reused_only_under_permitting_rules
    skip "this build has no HTTP/2" unless Trunkline::Engine::HTTP2
    server = opened(FrameServer.new(&:answer))
    http = client(server.url, http: :h2)
    assert_equal 200, http.get("/").status
    assert_raises(Trunkline::EgressRefused) { http.get("/", egress: :public) }
    assert_equal 200, http.get("/", egress: LOOPBACK).status
  end

  def test_unix_sockets_need_their_name
    path = File.join(Dir.tmpdir, "egress-#{Process.pid}")
    server = opened(ScriptedServer.responding(unix: path))
    http = client("http://app.test", unix: path, egress: :public)
    error = assert_raises(Trunkline::EgressRefused) { http.get("/") }
    assert_includes error.message, "unix: true"
    assert_equal 0, server.connection_count
    assert_equal 200, http.get("/", egress: { unix: true }).status
  end

  def test_proxies_need_their_name
    proxy = serve(response_bytes("by the proxy"))
    http = client("http://app.test", proxy: "127.0.0.1:#{proxy.port}", egress: :public)
    error = assert_raises(Trunkline::EgressRefused) { http.get("/") }
    assert_includes error.message, "proxy: true"
    assert_equal 0, proxy.connection_count
    through = http.with(egress: { proxy: true, ports: [80] })
    assert_equal "by the proxy", through.get("/").body
    # The connection to the proxy stays open; each call over it is checked.
    assert_raises(Trunkline::EgressRefused) { through.get("http://10.0.0.1/") }
    assert_raises(Trunkline::EgressRefused) { through.get("http://app.test:8080/") }
    assert_equal 1, proxy.requests.size
  end

  def test_a_refusal_is_not_repeated_and_opens_no_breaker
    http = client("http://127.0.0.1:9", egress: :public, retry: true, breaker: { minimum: 2 })
    errors = Array.new(5) { assert_raises(Trunkline::EgressRefused) { http.get("/") } }
    assert_equal [1], errors.map { |error| error.attempts.size }.uniq
  end

  def test_the_default_of_the_process
    result = Subprocess.run(<<~RUBY)
      Trunkline.configure { |defaults| (defaults.timeout = 2) && defaults.egress = :public }
      begin
        Trunkline.get("http://127.0.0.1:9/")
      rescue Trunkline::EgressRefused => error
        puts error.class
      end
    RUBY
    assert_equal "Trunkline::EgressRefused\n", result.out
  end

  # ---- names ----

  def test_one_private_address_of_a_name_refuses_it
    hosts = "127.0.0.2 one.test\n127.0.0.2 two.test\n10.0.0.5 two.test\n"
    assert_program(<<~RUBY, "127.0.0.2\nEgressRefused 10.0.0.5\n", hosts: hosts)
      port = respond_forever("127.0.0.2", "127.0.0.2")
      http = Trunkline.new(timeout: 5, egress: { allow: ["127.0.0.2"] })
      puts http.get("http://one.test:" + port.to_s).body
      begin
        http.get("http://two.test:" + port.to_s)
      rescue Trunkline::EgressRefused => error
        puts ["EgressRefused", error.message[/10[.]0[.]0[.]5/]].join(" ")
      end
    RUBY
  end

  # A name server that gives the address 127.0.0.2 first, and 127.0.0.1 in every later response.
  CHANGING_NAMES = <<~'RUBY'
    queries = 0
    Thread.new do
      loop do
        query, (_, to, _, ip) = server.recvfrom(512)
        type = query[12..].match(/\A(?:[^\0]+)\0(..)/mn)[1].unpack1("n")
        address = (queries += 1 if type == 1).to_i > 1 ? "\x7f\0\0\x01" : "\x7f\0\0\x02"
        count = type == 1 ? 1 : 0
        question = query[12..].match(/\A[^\0]+\0..../mn)[0]
        reply = query[0, 2] + [0x8180, 1, count, 0, 0].pack("n5") + question
        reply << "\xc0\x0c".b << [1, 1, 0, 4].pack("nnNn") << address.b if count == 1
        server.send(reply, 0, ip, to)
      end
    end
  RUBY
  private_constant :CHANGING_NAMES

  def test_a_name_that_changes_its_address_is_refused
    assert_program(CHANGING_NAMES + <<~'RUBY', "good\ngood\nEgressRefused\n1\n")
      inside = TCPServer.new("127.0.0.1", 0)
      port = inside.addr[1]
      respond_forever("127.0.0.2", "good", port)
      http = Trunkline.new(timeout: 5, max_age: 0.2, egress: { allow: ["127.0.0.2"] })
      2.times { puts http.get("http://rebound.test:#{port}/").body }
      sleep 0.4
      begin
        http.get("http://rebound.test:#{port}/")
      rescue Trunkline::EgressRefused
        puts "EgressRefused"
      end
      puts inside.accept_nonblock(exception: false) == :wait_readable ? 1 : 0
    RUBY
  end

  # ---- random notations of random addresses, compared with Ruby's IPAddr ----

  SPECIAL = %w[
    0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24
    192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/3 168.63.129.16/32
    2001::/23 2001:db8::/32 2002::/16 3fff::/20
  ].map { |text| IPAddr.new(text) }.freeze
  GLOBAL = IPAddr.new("2000::/3")
  NAT64 = IPAddr.new("64:ff9b::/96")

  def test_random_addresses_in_random_forms
    proxy = opened(ScriptedServer.responding(response_bytes("public")))
    http = client(proxy: "127.0.0.1:#{proxy.port}", egress: { proxy: true }, timeout: 20)
    seed = Random.new_seed
    random = Random.new(seed)
    seen = Array.new(2000) do
      address = random_address(random)
      host = random_form(address, random)
      refused = result_of { http.get("http://#{host}/") }.is_a?(Trunkline::EgressRefused)
      assert_equal special?(address), refused, "#{host} is #{address}; seed #{seed}"
      refused
    end
    assert_equal [false, true], seen.uniq.sort_by(&:to_s)
  end

  private

  def special?(address)
    return special?(address.native) if address.ipv4_mapped?
    return special?(IPAddr.new(address.to_i & 0xffff_ffff, Socket::AF_INET)) if NAT64.include?(address)
    return true if address.ipv6? && !GLOBAL.include?(address)

    SPECIAL.any? { |network| network.family == address.family && network.include?(address) }
  end

  # Half of the addresses are at the bounds of special networks.
  def random_address(random)
    range = SPECIAL.sample(random: random).to_range
    most = (1 << (range.first.ipv4? ? 32 : 128)) - 1
    ends = [range.first.to_i - 1, range.first.to_i, range.last.to_i, range.last.to_i + 1]
    number = random.rand < 0.5 ? ends.sample(random: random) : random.rand(0..most)
    IPAddr.new(number.clamp(0, most), range.first.family)
  end

  def random_form(address, random)
    return ipv6_form(address, random) if address.ipv6?

    groups = [address.to_i >> 16, address.to_i & 0xffff].map { |group| group.to_s(16) }.join(":")
    [address.to_s, "[::ffff:#{address}]", "[64:ff9b::#{address}]", "[::ffff:#{groups}]",
     "[0:0:0:0:0:FFFF:#{groups.upcase}]"].sample(random: random)
  end

  def ipv6_form(address, random)
    ["[#{address}]", "[#{address.to_string}]", "[#{address.to_string.upcase}]",
     "[#{address.to_string[0, 30]}#{[address.to_i & 0xffff_ffff].pack("N").bytes.join(".")}]"].sample(random: random)
  end

  def assert_program(code, expected, hosts: "127.0.0.1 localhost\n")
    skip "namespaces (unshare, ip) are not to be had here" unless NetworkNamespace.available?
    result = NetworkNamespace.run(code, hosts: hosts)
    assert_equal expected, result.out, result.err
  end
end
