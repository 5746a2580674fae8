# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../support/squid"
require "tmpdir"

# The engine in Ruby where a platform lacks what Linux has: in a process from which that is removed.
class TestOtherPlatforms < TrunklineTest
  WITHOUT_UNIX_SOCKETS = 'require "socket"; Object.__send__(:remove_const, :UNIXSocket)'
  # UNIXSocket of Ruby 3.3 and newer on Windows.
  WITHOUT_PAIRS = 'require "socket"; class << UNIXSocket; undef_method :pair; end'
  WITHOUT_PWRITE = "IO.undef_method(:pwrite)"
  WINDOWS = 'require "rbconfig"; RbConfig::CONFIG["host_os"] = "mingw32"'
  # An attempt to connect that fails soon after its begin; as on Windows, only the third list of IO.select tells that,
  # and what connect_nonblock would do then is not tried.
  FAILS_LATER = <<~RUBY
    class FailingSocket < SimpleDelegator
      def initialize = super(IO.pipe.last)
      def to_io = __getobj__
      def connect_nonblock(*, **) = @connecting ? raise("another attempt") : (@connecting = :wait_writable)
      def getsockopt(*) = Socket::Option.int(:INET, :SOCKET, :ERROR, Errno::ECONNREFUSED::Errno)
    end
    class << IO
      def select(_reading, _writing, failing, _timeout) = [[], [], failing || []]
    end
    options = Object.new
    def options.open(_address) = FailingSocket.new
    connecting = Trunkline::Engine::Ruby::Connecting.new([Addrinfo.tcp("127.0.0.1", 9)], options)
    begin
      now = Trunkline::Engine.now
      puts connecting.due < now, connecting.step(now).inspect, connecting.due - now
    rescue Trunkline::Engine::Ruby::Failure => error
      puts error.detail, error.errno == Errno::ECONNREFUSED::Errno
    end
  RUBY

  def test_tls_in_tls_and_many_calls_without_unix_sockets
    server = serve_tls { |connection| connection << response_bytes("ok") while connection.read_request }
    [WITHOUT_UNIX_SOCKETS, WITHOUT_PAIRS].each do |missing|
      out = run_where(missing, <<~RUBY)
        http = Trunkline.new(#{server.url.dump}, timeout: 20, ca_file: #{TestCA.client_authorities_file.dump},
                             proxy: #{Squid.instance.url(:secure).dump})
        puts http.get("/").body, http.map(%w[/ /], concurrency: 2).map(&:body)
      RUBY
      assert_equal %w[ok ok ok], out.split
    end
  end

  def test_a_pair_over_loopback
    out = run_where(WITHOUT_UNIX_SOCKETS, <<~RUBY)
      one, other = Trunkline::Engine::Ruby::SocketPair.open
      one << "hello"
      puts other.readpartial(9), one.class
    RUBY
    assert_equal %w[hello TCPSocket], out.split
  end

  def test_download_without_pwrite
    body = Random.bytes(300_000)
    server = serve { |connection| connection << response_bytes(body) while connection.read_request }
    Dir.mktmpdir do |folder|
      run_where(WITHOUT_PWRITE, <<~RUBY)
        http = Trunkline.new(#{server.url.dump}, timeout: 20)
        http.download("/", to: "#{folder}/file")
        response = http.get("/", stream: true).extend(Trunkline::Replay).replay
        File.open("#{folder}/replayed", "w+") { |file| response._save(file.fileno, 3, nil) }
      RUBY
      assert_equal body, File.binread("#{folder}/file")
      assert_equal "\0\0\0#{body}".b, File.binread("#{folder}/replayed")
    end
  end

  def test_a_failed_connect_on_windows
    out = run_where(WINDOWS, "require \"delegate\"\n#{FAILS_LATER}").lines(chomp: true)
    assert_equal ["127.0.0.1:9: Connection refused", "true"], out.last(2)
  end

  def test_attempts_on_windows_are_checked_regularly
    pending = FAILS_LATER.sub("[[], [], failing || []]", "nil")
    out = run_where(WINDOWS, "require \"delegate\"\n#{pending}").lines(chomp: true)
    assert_equal %w[true nil], out.first(2)
    assert_in_delta 0.02, out.last.to_f, 0.001
  end

  def test_a_unix_socket_where_there_are_none
    out = run_where('require "socket"; class << Addrinfo; undef_method :unix; end', <<~RUBY)
      begin
        Trunkline.new("http://a.test", timeout: 1, unix: "/a").get("/")
      rescue Trunkline::ConnectError => error
        puts error.message
      end
    RUBY
    assert_match(/this Ruby has no Unix sockets/, out)
  end

  def test_the_length_of_the_path_of_a_unix_socket
    { "darwin23" => 103, "freebsd14" => 103, "linux-gnu" => 107 }.each do |system, bytes|
      out = run_where(%(require "rbconfig"; RbConfig::CONFIG["host_os"] = "#{system}"), <<~RUBY)
        [#{bytes}, #{bytes} + 1].each do |size|
          Trunkline.new("http://a.test", timeout: 1, unix: "/".ljust(size, "x"))
          puts "taken"
        rescue Trunkline::InvalidRequest => error
          puts error.message
        end
      RUBY
      assert_match(/\Ataken\nunix: .*a path of at most #{bytes} bytes/, out)
    end
  end

  private

  # @param platform [String] Ruby that removes something, before trunkline is loaded
  # @return [String] the program's output
  def run_where(platform, code)
    program = %(#{platform}; require "trunkline"\n#{code})
    command = [RbConfig.ruby, "-W0", "-I", Subprocess::LIB, "-e", program]
    out, err, status = Subprocess.run_command({ "TRUNKLINE_ENGINE" => "ruby" }, command)
    assert status.success?, err
    out
  end
end
