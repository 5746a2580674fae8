# frozen_string_literal: true

begin
  require "openssl"
rescue LoadError # a check reports it
  nil
end
require "socket"
require "uri"
require_relative "../features"
require_relative "missing_extension"

module Trunkline
  class Command
    # Checks what this build and this machine support, and prints advice for each fault and each missing feature.
    class Doctor
      # A Check's state is :good, :note (works, but without a feature) or :fault. `advice` is nil when nothing need be
      # done.
      Check = Struct.new(:state, :name, :found, :advice)

      MARKS = { good: "ok   ", note: "note ", fault: "FAULT" }.freeze
      OPTIONAL = { nghttp2: ["HTTP/2", "libnghttp2-dev"], brotli: %w[br libbrotli-dev],
                   zstd: %w[zstd libzstd-dev] }.freeze
      # The gems that provide these features to the engine in Ruby.
      GEMS = { "HTTP/2" => "http-2", "br" => "brotli", "zstd" => "zstd-ruby" }.freeze
      PROXY_VARIABLES = %w[http_proxy https_proxy all_proxy no_proxy].flat_map { |name| [name, name.upcase] }.freeze
      # Connections soon use up a limit of this many file descriptors or fewer.
      FEW_DESCRIPTORS = 1024
      # An address for documentation (RFC 3849): a datagram socket is connected to it, and nothing is sent.
      PROBE_ADDRESS = "2001:db8::1"

      def initialize(out)
        @out = out
      end

      # @return [Integer] the exit status
      def run
        checks = all
        width = checks.map { |check| check.name.size }.max
        checks.each do |check|
          @out.puts "#{MARKS.fetch(check.state)}  #{check.name.ljust(width)}  #{check.found}"
          @out.puts "       #{" " * width}  -> #{check.advice}" if check.advice
        end
        checks.any? { |check| check.state == :fault } ? FAILED : OK
      end

      # @return [Array<Check>]
      def all
        [version, engine, *libraries, openssl, trusted_authorities, *unreadable_paths, dns, ipv6, *proxies, clock,
         descriptors].compact
      end

      private

      def version
        Check.new(:good, "trunkline", "#{VERSION} on #{RUBY_ENGINE} #{RUBY_VERSION} (#{RUBY_PLATFORM})")
      end

      def engine
        return Check.new(:good, "engine", ":c") if ENGINE == :c
        return Check.new(:good, "engine", ":ruby, as on every #{RUBY_ENGINE}") unless RUBY_ENGINE == "ruby"
        return Check.new(:good, "engine", ":ruby, by TRUNKLINE_ENGINE") if ENV["TRUNKLINE_ENGINE"] == "ruby"

        reason, advice = MissingExtension.reason
        Check.new(:note, "engine", ":ruby, because the extension was not built: #{reason}", advice)
      end

      def libraries = ENGINE == :c ? built_in : by_gems

      def by_gems
        GEMS.map do |feature, name|
          supported = feature == "HTTP/2" ? Engine::HTTP2 : Engine::CODINGS.split(", ").include?(feature)
          next Check.new(:good, feature, "by the gem #{name}") if supported

          Check.new(:note, feature, "the gem #{name} is not there", "gem install #{name}, or add it to the Gemfile")
        end
      end

      def built_in
        OPTIONAL.map do |library, (feature, package)|
          found = Engine.libraries[library]
          next Check.new(:good, feature, "#{library} #{found}") if found

          Check.new(:note, feature, "not built in: #{library} was not there when the gem was installed",
                    "apt-get install #{package} (or your system's name for it), then: gem pristine trunkline")
        end
      end

      def openssl
        return no_openssl unless openssl_here?

        linked = Engine.libraries[:openssl]
        return Check.new(:good, "OpenSSL", "#{linked}, the same that Ruby uses") if same_openssl?

        Check.new(:note, "OpenSSL", "#{linked}; Ruby uses another copy, #{OpenSSL::OPENSSL_LIBRARY_VERSION}",
                  "nothing, unless TLS behaves differently here and there: a gem that is compiled on this machine " \
                  "follows Ruby's (gem install trunkline --platform ruby)")
      end

      def openssl_here? = defined?(OpenSSL::X509::Store) ? true : false

      def no_openssl
        return Check.new(:good, "OpenSSL", "#{Engine.libraries[:openssl]}; Ruby has none") if ENGINE == :c

        Check.new(:fault, "OpenSSL", "Ruby was built without it: https will fail",
                  "build Ruby with OpenSSL, or gem install openssl")
      end

      def same_openssl? = Engine.same_openssl?(OpenSSL::X509::Store.new)

      def trusted_authorities
        return unless openssl_here?

        file = ENV.fetch("SSL_CERT_FILE", OpenSSL::X509::DEFAULT_CERT_FILE)
        folder = ENV.fetch("SSL_CERT_DIR", OpenSSL::X509::DEFAULT_CERT_DIR)
        count = certificates_in(file)
        hashed = Dir.glob(File.join(folder, "*.[0-9]")).size
        if count.zero? && hashed.zero?
          return Check.new(:fault, "trusted CAs", "none, neither in #{file} nor in #{folder}: https will fail",
                           "apt-get install ca-certificates, or set SSL_CERT_FILE")
        end
        Check.new(:good, "trusted CAs", count.zero? ? "#{hashed} in #{folder}" : "#{count} in #{file}")
      end

      # OpenSSL ignores a file or directory that it cannot read, and reports no error.
      def unreadable_paths
        %w[SSL_CERT_FILE SSL_CERT_DIR].filter_map do |name|
          path = ENV.fetch(name, "")
          next if path.empty? || File.readable?(path)

          Check.new(:note, name, "#{path} cannot be read, and is left out", "unset it, or put the certificates there")
        end
      end

      def certificates_in(file)
        File.foreach(file).count { |line| line.start_with?("-----BEGIN CERTIFICATE") }
      rescue SystemCallError
        0
      end

      def dns
        servers = nameservers
        began = Engine.now
        Addrinfo.getaddrinfo("localhost", nil)
        took = "localhost in #{((Engine.now - began) * 1000).round(1)} ms"
        return Check.new(:good, "DNS", "#{took}; nameservers: #{servers.join(", ")}") unless servers.empty?

        Check.new(:note, "DNS", "#{took}; no nameserver in /etc/resolv.conf",
                  "check how this machine resolves names: getent hosts NAME")
      rescue SocketError => error
        Check.new(:fault, "DNS", "localhost has no address: #{error.message}",
                  "check /etc/hosts and /etc/nsswitch.conf")
      end

      def nameservers
        File.read("/etc/resolv.conf").scan(/^nameserver\s+(\S+)/).flatten
      rescue SystemCallError
        []
      end

      def ipv6
        UDPSocket.open(Socket::AF_INET6) { |socket| socket.connect(PROBE_ADDRESS, 9) }
        Check.new(:good, "IPv6", "there is a route")
      rescue SystemCallError
        Check.new(:note, "IPv6", "there is no route: servers are called by IPv4", nil)
      end

      def proxies
        variables = PROXY_VARIABLES.select { |name| ENV.key?(name) && !ENV[name].empty? }
        return [Check.new(:good, "proxies", "none in the environment")] if variables.empty?

        variables.map do |name|
          Check.new(:note, name, without_credentials(ENV.fetch(name)),
                    "proxy: false on a client ignores the environment")
        end
      end

      def without_credentials(text) = text.sub(%r{\A([a-z0-9]+://)?[^/@]*@}i, "\\1[hidden]@")

      # A clock that is behind this file's modification time is wrong.
      def clock
        now = Time.now.utc
        return Check.new(:good, "clock", now.strftime("%Y-%m-%d %H:%M:%S UTC")) if now > File.mtime(__FILE__)

        Check.new(:fault, "clock", "#{now.strftime("%Y-%m-%d %H:%M UTC")}, before this gem was installed: " \
                                   "certificates will seem not to be valid yet", "set the clock")
      end

      def descriptors
        return unless Process.respond_to?(:getrlimit) # Windows has no such limit

        limit = Process.getrlimit(:NOFILE).first
        return Check.new(:good, "descriptors", "#{limit} for a process") if limit > FEW_DESCRIPTORS

        Check.new(:note, "descriptors", "#{limit} for a process: half of them may be connections",
                  "ulimit -n 65536, or LimitNOFILE= of systemd, for thousands of calls at once")
      end
    end
  end
end
