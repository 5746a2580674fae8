# frozen_string_literal: true

require "net/http"
require "socket"
require "tmpdir"
require_relative "certificates"
require_relative "processes"

module Bench
  # nginx on free ports of 127.0.0.1, with its configuration, files and certificates made on the spot:
  # one port for plain and one for TLS that keep connections; one for TLS that closes after each answer and resumes
  # no session, so that every call is a full handshake; one that counts connections.
  class Origin
    SMALL = "/small"
    MEDIUM = "/medium"
    LARGE = "/large"
    SMALL_BODY = "#{"trunkline " * 13}ok.".freeze # 133 bytes
    MEDIUM_BYTES = 13_801
    LARGE_BYTES = 200 * 1024 * 1024
    MEDIUM_BODY = (SMALL_BODY * 104)[0, MEDIUM_BYTES].freeze
    # Answered after a while by nginx's echo module.
    SLOW = "/after/0.1"
    HALF_SLOW = "/after/0.05"
    ECHO_MODULE = Dir["/usr/{lib,lib64,share}/nginx/modules/ngx_http_echo_module.so"].first
    START_SECONDS = 5

    class Missing < StandardError; end

    attr_reader :certificates

    # Yields a started origin; it is stopped whatever happens.
    def self.open
      raise Missing, "nginx is not installed (bin/setup installs it)" unless Processes.available?("nginx")

      Dir.mktmpdir("trunkline-origin-") do |folder|
        origin = new(folder)
        begin
          yield origin.start
        ensure
          origin.stop
        end
      end
    end

    def self.version = `nginx -v 2>&1`[%r{nginx/\S+}]

    # What is found at a path.
    def self.body(path) = path == MEDIUM ? MEDIUM_BODY : SMALL_BODY

    # Why there is nothing at SLOW and HALF_SLOW, or nil.
    def self.slow_missing = ("nginx's echo module is not installed (bin/setup installs it)" unless ECHO_MODULE)

    def initialize(folder)
      @folder = folder
      @certificates = Certificates.new(folder)
      @ports = free_ports(:plain, :tls, :fresh_tls, :status)
    end

    def plain = "http://127.0.0.1:#{@ports[:plain]}"

    def tls = "https://127.0.0.1:#{@ports[:tls]}"

    def fresh_tls = "https://127.0.0.1:#{@ports[:fresh_tls]}"

    def start
      write_files
      @pid = Processes.spawn("nginx", "-p", @folder, "-c", "nginx.conf", "-e", "error.log", core: Processes::ORIGIN_CORE)
      wait_until_it_answers
      self
    end

    def stop
      Processes.stop(@pid, signal: "INT") if @pid
      @pid = nil
    end

    # Connections accepted while the block ran.
    def connections
      before = accepted
      yield
      accepted - before - 1 # the second look at the counter is a connection too
    end

    private

    def free_ports(*names)
      servers = names.map { TCPServer.new("127.0.0.1", 0) }
      names.zip(servers.map { |server| server.addr[1] }).to_h
    ensure
      servers&.each(&:close)
    end

    def write_files
      File.write(File.join(@folder, MEDIUM), MEDIUM_BODY)
      File.open(File.join(@folder, LARGE), "w") { |file| file.truncate(LARGE_BYTES) }
      File.write(File.join(@folder, "nginx.conf"), configuration)
    end

    def wait_until_it_answers
      deadline = Clock.now + START_SECONDS
      begin
        accepted
      rescue SystemCallError
        if Clock.now > deadline || Process.wait(@pid, Process::WNOHANG)
          raise Missing, "nginx did not start: #{error_log}"
        end

        sleep 0.02
        retry
      end
    end

    def error_log = File.read(File.join(@folder, "error.log")).lines.last

    def accepted
      Net::HTTP.get(URI("http://127.0.0.1:#{@ports[:status]}/"))[/requests\s+(\d+)/, 1].to_i
    end

    # One process and no master, so that the origin stays on one core and ends with one signal.
    def configuration
      <<~NGINX
        #{"load_module #{ECHO_MODULE};" if ECHO_MODULE}
        daemon off;
        master_process off;
        pid nginx.pid;
        error_log error.log;
        events { worker_connections 8192; }
        http {
          access_log off;
          default_type text/plain;
          #{%w[client_body proxy fastcgi uwsgi scgi].map { |name| "#{name}_temp_path temp_#{name};" }.join(" ")}
          sendfile on;
          open_file_cache max=16;
          keepalive_timeout 600s;
          keepalive_requests 2000000000;
          ssl_certificate #{certificates.cert_file};
          ssl_certificate_key #{certificates.key_file};
          ssl_protocols TLSv1.2 TLSv1.3;
          root #{@folder};
          server { listen 127.0.0.1:#{@ports[:plain]}; #{small} #{slow} }
          server { listen 127.0.0.1:#{@ports[:tls]} ssl; #{small} }
          server { listen 127.0.0.1:#{@ports[:fresh_tls]} ssl; keepalive_timeout 0; ssl_session_tickets off; #{small} }
          server { listen 127.0.0.1:#{@ports[:status]}; stub_status; }
        }
      NGINX
    end

    def slow
      return unless ECHO_MODULE

      answer = "echo -n \"#{SMALL_BODY}\";"
      [SLOW, HALF_SLOW].map { |path| "location = #{path} { echo_sleep #{File.basename(path)}; #{answer} }" }.join(" ")
    end

    def small = "location = #{SMALL} { return 200 \"#{SMALL_BODY}\"; }"
  end
end
