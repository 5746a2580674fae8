# frozen_string_literal: true

require "json"
require "net/http"
require "socket"
require "tmpdir"
require_relative "../certificates"
require_relative "../processes"

module Trunkline
  module Lab
    # The servers for the experiments, on free ports of 127.0.0.1; they are stopped in any case.
    module Origins
      SHORT = "/short"
      MEDIUM = "/medium"
      SLOW = "/slow"
      SHORT_BODY = "#{"trunkline " * 13}ok.".freeze # 133 bytes
      MEDIUM_BODY = (SHORT_BODY * 104)[0, 13_801].freeze
      # Paths that answer any method as a typical service does: 370 bytes of JSON with twelve header fields.
      ORDERS = "/orders"
      SLOW_ORDERS = "/slow/orders"
      ORDERS_BODY = JSON.generate(
        id: 48_211, status: "confirmed", currency: "EUR", total: 12_997, created_at: "2026-11-22T09:30:00Z",
        customer: { id: 7_731, name: "Ada Lovelace", email: "lovelace@example.test" },
        items: [{ sku: "TL-100", quantity: 2, price: 1_999, title: "Trunk line, 100 m" },
                { sku: "TL-250", quantity: 1, price: 8_999, title: "Trunk line, 250 m" }],
        shipping: { carrier: "postal", days: 3 }
      ).freeze
      # Fields that a service adds to nginx's Server, Date, Content-Type, Content-Length and Connection.
      ORDERS_FIELDS = {
        "Cache-Control" => "private, max-age=0, must-revalidate", "ETag" => "W/\\\"5d41402abc4b2a76\\\"",
        "Vary" => "Accept, Accept-Encoding", "X-Request-Id" => "$http_x_request_id", "X-Runtime" => "0.004217",
        "X-Content-Type-Options" => "nosniff", "Strict-Transport-Security" => "max-age=63072000; includeSubDomains"
      }.freeze
      SLOW_SECONDS = 0.01
      START_SECONDS = 30

      # Raised when a server did not start.
      class Missing < StandardError; end

      def self.free_ports(*names)
        servers = names.map { TCPServer.new("127.0.0.1", 0) }
        names.zip(servers.map { |server| server.addr[1] }).to_h
      ensure
        servers&.each(&:close)
      end

      # For servers that are a program with a separate folder.
      module InFolder
        # @yield [server] which is running; it is stopped in any case
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

      # nginx, with a generated configuration, files and certificates. The ports plain, without_nopush and tls keep
      # connections; http2 is HTTP/2 over TLS; fresh_tls closes the connection after each response and resumes no
      # session; status returns the number of connections.
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
          @ports = Origins.free_ports(:plain, :without_nopush, :tls, :http2, :fresh_tls, :status)
        end

        def self.echo_module
          @echo_module ||= MODULES.map { |folder| File.join(folder, "ngx_http_echo_module.so") }
            .find { |file| File.exist?(file) }
        end

        attr_reader :certificates

        def name = self.class.version
        def ca_file = @certificates.ca_file
        def plain = "http://127.0.0.1:#{@ports[:plain]}"
        def without_nopush = "http://127.0.0.1:#{@ports[:without_nopush]}"
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
          accepted - before - 1 # reading the counter again opens a connection, too
        end

        private

        attr_reader :folder

        def error_log = File.read(File.join(folder, "error.log")).lines.last

        def accepted
          Net::HTTP.get(URI("http://127.0.0.1:#{@ports[:status]}/"))[/requests\s+(\d+)/, 1].to_i
        end

        # A single process without a master, so that the server stays on one core and ends with one signal. With
        # tcp_nopush, as in Debian's nginx.conf, a file is sent in one segment with its head. Without it, which is
        # nginx's default, the client reads the head first and has to wait again for the file.
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
              server { listen 127.0.0.1:#{@ports[:without_nopush]}; tcp_nopush off; #{places} }
              server { listen 127.0.0.1:#{@ports[:tls]} ssl; #{places} }
              server { listen 127.0.0.1:#{@ports[:http2]} ssl http2; http2_max_concurrent_streams 1000; #{places} }
              server { listen 127.0.0.1:#{@ports[:fresh_tls]} ssl; keepalive_timeout 0; ssl_session_tickets off; #{places} }
              server { listen 127.0.0.1:#{@ports[:status]}; stub_status; }
            }
          NGINX
        end

        def places
          fields = ORDERS_FIELDS.map { |name, value| "add_header #{name} \"#{value}\";" }.join(" ")
          locations = ["location = #{SHORT} { return 200 \"#{SHORT_BODY}\"; }",
                       "location = #{ORDERS} { default_type application/json; #{fields} return 200 '#{ORDERS_BODY}'; }"]
          return locations.join(" ") unless echo_module

          delayed = delays.map do |path, (seconds, target)|
            "location = #{path} { echo_sleep #{seconds}; echo_exec #{target}; }"
          end
          [*locations, *delayed].join(" ")
        end

        # Paths that nginx's echo module answers with the response of another path, after a delay in seconds.
        # @return [Hash{String => Array(Float, String)}]
        def delays = { SLOW => [SLOW_SECONDS, SHORT], SLOW_ORDERS => [SLOW_SECONDS, ORDERS] }

        def echo_module = self.class.echo_module

        def write_files
          File.write(File.join(folder, MEDIUM), MEDIUM_BODY)
          File.write(File.join(folder, "nginx.conf"), configuration)
        end
      end
    end
  end
end
