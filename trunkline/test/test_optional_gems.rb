# frozen_string_literal: true

require_relative "test_helper"
require_relative "support/subprocess"

# The engine in Ruby without the optional gems that it can use.
class TestOptionalGems < Minitest::Test
  # Makes `require` of one gem fail.
  WITHOUT = <<~'RUBY'
    Kernel.prepend(Module.new do
      def require(name) = name == %s ? raise(LoadError, "cannot load such file -- #{name}") : super
    end)
  RUBY

  def test_without_http_2_auto_is_http1_and_h2_names_the_gem
    out = run_without("http/2", <<~RUBY)
      puts Trunkline.features[:http2]
      Trunkline.new(timeout: 5, http: :auto)
      begin
        Trunkline.new(timeout: 5, http: :h2)
      rescue Trunkline::InvalidRequest => error
        puts error.message
      end
    RUBY
    assert_equal "false", out.lines.first.chomp
    assert_match(/\Ahttp: :h2 needs the gem http-2 /, out.lines.last)
  end

  { "brotli" => "br", "zstd-ruby" => "zstd" }.each do |name, coding|
    define_method(:"test_without_#{name.tr("-", "_")}_#{coding}_is_not_in_accept_encoding") do
      all = codings_without("none")
      skip "the gem #{name} cannot be installed here" unless all.include?(coding)

      assert_equal all - [coding], codings_without(name)
    end
  end

  def test_without_openssl_https_names_it
    out = run_without("openssl", <<~RUBY)
      require "socket"
      puts Trunkline.features[:libraries].fetch(:openssl).inspect
      server = TCPServer.new("127.0.0.1", 0)
      Thread.new { server.accept.write("HTTP/1.1 204 X\\r\\n\\r\\n") }
      http = Trunkline.new(timeout: 5)
      puts http.get("http://127.0.0.1:\#{server.local_address.ip_port}/").status
      begin
        http.get("https://localhost:1/")
      rescue Trunkline::InvalidRequest => error
        puts error.message
      end
    RUBY
    assert_equal %w[nil 204], out.lines.first(2).map(&:chomp)
    assert_match(/\Ahttps: needs openssl for Ruby: .*\(cannot load such file -- openssl\)/, out.lines.last)
  end

  def test_doctor_without_openssl
    out = run_without("openssl", "require \"trunkline/command\"\nTrunkline::Command.new.run([\"doctor\"])")
    assert_match(/^FAULT +OpenSSL +Ruby was built without it: https will fail$/, out)
  end

  def test_doctor_names_the_gem
    out = run_without("http/2", "require \"trunkline/command\"\nTrunkline::Command.new.run([\"doctor\"])")
    assert_match(/^note +HTTP.2 +the gem http-2 is not there\n +-> gem install http-2/, out)
  end

  private

  def codings_without(name) = run_without(name, "puts Trunkline.features[:codings]").split

  # @return [String] the program's output
  def run_without(name, code)
    program = "#{format(WITHOUT, name.inspect)}require \"trunkline\"\n#{code}"
    command = [RbConfig.ruby, "-W0", "-I", Subprocess::LIB, "-e", program]
    out, err, status = Subprocess.run_command({ "TRUNKLINE_ENGINE" => "ruby" }, command)
    assert status.success?, err
    out
  end
end
