# frozen_string_literal: true

require_relative "child_server"
require_relative "certificate_authority"

# Debian's squid, with and without a password, over plain TCP and over TLS.
class Squid < ChildServer
  USER = "robin"
  PASSWORD = "p@ss word/1"
  PASSWORD_CHECK = "/usr/lib/squid/basic_ncsa_auth"
  LISTENERS = %i[open secure].freeze

  class << self
    def instance = @instance ||= new(false).tap(&:start)
    def with_password = @with_password ||= new(true).tap(&:start)
  end

  attr_reader :ports

  def initialize(with_password)
    super("squid")
    @with_password = with_password
  end

  def url(listener = :open, credentials: nil)
    "#{listener == :secure ? "https" : "http"}://#{"#{credentials}@" if credentials}127.0.0.1:#{ports.fetch(listener)}"
  end

  def start
    super do
      @ports = LISTENERS.zip(FreePort.take(LISTENERS.size)).to_h
      File.chmod(0o777, directory)
      File.write(path("passwords"), "#{USER}:#{hashed_password}")
      FileUtils.cp(TestCA.certificate_file(:localhost), path("certificate"))
      FileUtils.cp(TestCA.key_file(:localhost), path("key"))
      File.write(path("squid.conf"), configuration)
      # A sanitizer that is preloaded into this process would report faults of squid itself.
      [@ports.values, ["squid", "-N", "-f", path("squid.conf")], { "LD_PRELOAD" => nil }]
    end
  end

  private

  def path(name) = File.join(directory, name)

  # Hashed by OpenSSL, since String#crypt differs between Rubies.
  def hashed_password = IO.popen(%W[openssl passwd -5 #{PASSWORD}], &:read)

  def configuration
    <<~SQUID
      http_port 127.0.0.1:#{@ports[:open]}
      https_port 127.0.0.1:#{@ports[:secure]} tls-cert=#{path("certificate")} tls-key=#{path("key")}
      #{"auth_param basic program #{PASSWORD_CHECK} #{path("passwords")}\nauth_param basic realm trunkline" if @with_password}
      #{"acl known proxy_auth REQUIRED" if @with_password}
      acl unwanted dstdomain .forbidden.test
      http_access deny unwanted
      http_access allow #{@with_password ? "known" : "all"}
      pid_filename #{path("squid.pid")}
      cache deny all
      access_log none
      cache_log #{path("cache.log")}
      coredump_dir #{directory}
      shutdown_lifetime 0 seconds
      workers 1
      via off
    SQUID
  end
end
