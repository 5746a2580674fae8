# frozen_string_literal: true

require "net/http"
require "socket"
require "tmpdir"
require_relative "../certificates"
require_relative "../processes"

module Trunkline
  module Lab
    # The servers that experiments run against, on free ports of 127.0.0.1, stopped whatever happens.
    module Origins
      SHORT = "/short"
      MEDIUM = "/medium"
      SLOW = "/slow"
      SHORT_BODY = "#{"trunkline " * 13}ok.".freeze # 133 bytes
      MEDIUM_BODY = (SHORT_BODY * 104)[0, 13_801].freeze
      SLOW_SECONDS = 0.01
      START_SECONDS = 30

      # A server that did not start.
      class Missing < StandardError; end

      def self.free_ports(*names)
        servers = names.map { TCPServer.new("127.0.0.1", 0) }
        names.zip(servers.map { |server| server.addr[1] }).to_h
      ensure
        servers&.each(&:close)
      end

      # For servers that are a program with a folder of its own.
      module InFolder
        # @yield [server] started; it is stopped whatever happens
        def open
          Dir.mktmpdir("trunkline-lab-") do |folder|
            server = new(folder)
            begin
              yield server.start
            ensure
              server.stop
            end
          end
        end
      end

      # nginx, its configuration, files and certificates made on the spot: one port for plain and one for TLS that keep
      # connections; one for TLS with HTTP/2; one for TLS that closes after each answer and resumes no session; one that
      # counts connections.
      class Nginx
        extend InFolder

        MODULES = %w[/usr/lib/nginx/modules /usr/lib64/nginx/modules /usr/local/lib/nginx/modules].freeze

        def self.available? = !Processes.available?("nginx").nil?

        def self.version
          program = Processes.available?("nginx")
          program && `#{program} -v 2>&1`[%r{nginx/\S+}]
        end

        def initialize(folder)
          @folder = folder
          @certificates = Certificates.new(folder)
          @ports = Origins.free_ports(:plain, :tls, :http2, :fresh_tls, :status)
        end

        def self.echo_module
          @echo_module ||= MODULES.map { |folder| File.join(folder, "ngx_http_echo_module.so") }
            .find { |file| File.exist?(file) }
        end

        attr_reader :certificates

        def name = self.class.version
        def ca_file = @certificates.ca_file
        def plain = "http://127.0.0.1:#{@ports[:plain]}"
        def tls = "https://127.0.0.1:#{@ports[:tls]}"
        def http2 = "https://127.0.0.1:#{@ports[:http2]}"
        def fresh_tls = "https://127.0.0.1:#{@ports[:fresh_tls]}"

        def start
          write_files
          @pid = Processes.spawn(Processes.available?("nginx"), "-p", folder, "-c", "nginx.conf", "-e", "error.log",
                                 core: Processes::ORIGIN_CORE, err: File::NULL)
          raise Missing, "nginx did not start: #{error_log}" unless Processes.answers?(@pid, START_SECONDS) { accepted }

          self
        end

        def stop
          Processes.stop(@pid, signal: "INT") if @pid
          @pid = nil
        end

        # @return [Integer] connections accepted while the block ran
        def connections
          before = accepted
          yield
          accepted - before - 1 # the second look at the counter is a connection too
        end

        private

        attr_reader :folder

        def error_log = File.read(File.join(folder, "error.log")).lines.last

        def accepted
          Net::HTTP.get(URI("http://127.0.0.1:#{@ports[:status]}/"))[/requests\s+(\d+)/, 1].to_i
        end

        # One process and no master, so that the origin stays on one core and ends with one signal. A file goes out
        # together with its head, as Debian's nginx.conf has it: in two segments, who reads meets the second halfway.
        def configuration
          <<~NGINX
            #{echo_module && "load_module #{echo_module};"}
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
              tcp_nopush on;
              open_file_cache max=16;
              keepalive_timeout 600s;
              keepalive_requests 2000000000;
              ssl_certificate #{@certificates.cert_file};
              ssl_certificate_key #{@certificates.key_file};
              ssl_protocols TLSv1.2 TLSv1.3;
              root #{folder};
              server { listen 127.0.0.1:#{@ports[:plain]}; #{places} }
              server { listen 127.0.0.1:#{@ports[:tls]} ssl; #{places} }
              server { listen 127.0.0.1:#{@ports[:http2]} ssl http2; http2_max_concurrent_streams 1000; #{places} }
              server { listen 127.0.0.1:#{@ports[:fresh_tls]} ssl; keepalive_timeout 0; ssl_session_tickets off; #{places} }
              server { listen 127.0.0.1:#{@ports[:status]}; stub_status; }
            }
          NGINX
        end

        def places
          short = "location = #{SHORT} { return 200 \"#{SHORT_BODY}\"; }"
          return short unless echo_module

          delayed = delays.map do |path, seconds|
            "location = #{path} { echo_sleep #{seconds}; echo_exec #{SHORT}; }"
          end
          [short, *delayed].join(" ")
        end

        # Answered like SHORT after so many seconds, where nginx has its echo module.
        # @return [Hash{String => Float}]
        def delays = { SLOW => SLOW_SECONDS }

        def echo_module = self.class.echo_module

        def write_files
          File.write(File.join(folder, MEDIUM), MEDIUM_BODY)
          File.write(File.join(folder, "nginx.conf"), configuration)
        end
      end
    end
  end
end
