# frozen_string_literal: true

require "json"
require "tmpdir"
require_relative "../../../support/separate_bundle"
require_relative "../../../support/scripted_server"
require_relative "../../../support/subprocess"
require_relative "../../../support/certificate_authority"
require_relative "sdk"
Dir[File.join(__dir__, "uses", "*.rb")].each { |file| require file }

class SDK
  # Runs one SDK unchanged, with install! and, if it uses Faraday, with Trunkline's adapter: each time in a separate
  # process, with its own server. Reports differences in the results of the calls and in the requests to the server, and
  # counts the connections.
  class Comparison
    # The folder of SDKs that require a newer Ruby than this one: see rake sdks.
    FORCED = File.join(SeparateBundle.folder("sdks"), "forced")

    # The results of one process.
    Run = Struct.new(:results, :sent, :connections, :version, keyword_init: true)

    Unavailable = Class.new(StandardError)

    # Fields that differ between runs; and Connection, which depends on whether a connection is kept.
    FIELDS = /^(?:connection|keep-alive|content-length|authorization|idempotency-key|user-agent|x-request-id|
                  x-amz-date|x-amz-content-sha256|amz-sdk-\S+|x-stripe-client-\S+|
                  x-goog-api-client|x-goog-gcs-idempotency-token|x-elastic-\S+):.*\r\n/xi
    # Fields that each Faraday adapter writes differently.
    ADAPTER_FIELDS = /^(?:accept|accept-encoding|host):.*\r\n/i
    RANDOM = { /\h{8}-\h{4}-\h{4}-\h{4}-\h{12}/ => "UUID", /\b\d{10,13}\b/ => "TIME", /0x\h{8,}/ => "ADDRESS" }.freeze
    BOUNDARY = %r{^content-type: multipart/[^\r]*boundary="?([^\s";]+)}i
    PROXIES = %w[http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY].to_h { |name| [name, nil] }.freeze

    class << self
      # @param plain [Run]
      # @param other [Run]
      # @return [Array<String>] a line for each difference
      def differences(plain, other, adapter: false)
        sent = [plain, other].map { |run| (adapter ? run.sent.map { |raw| any_adapter(raw) } : run.sent).sort }
        [*unequal("round", plain.results, other.results), *unequal("request", *sent)]
      end

      private

      def unequal(path, expected, got)
        if expected == got then []
        elsif [expected, got].all?(Array)
          (0...[expected.size, got.size].max).flat_map { |at| unequal("#{path} #{at}", expected[at], got[at]) }
        else
          ["#{path}: expected #{expected.inspect[0, 1000]}, got #{got.inspect[0, 1000]}"]
        end
      end

      def any_adapter(raw) = raw.gsub(ADAPTER_FIELDS, "").gsub(/^[\w-]+(?=: )/, &:downcase).lines.sort.join
    end

    # @param sdk [Class] a subclass of SDK
    def initialize(sdk)
      @sdk = sdk
      @about = sdk.about
    end

    # @return [Hash{String => Run}] by mode: plain, installed, and adapter if it uses Faraday
    # @raise [Unavailable] when a process failed
    def runs
      TestCA.ca_file # created before the threads need it
      threads = ["plain", "installed", *("adapter" if @sdk.faraday?)].map { |mode| Thread.new { [mode, run(mode)] } }
      threads.each { |thread| thread.report_on_exception = false }.to_h(&:value)
    end

    private

    def run(mode)
      server = serve
      out, err, status = Subprocess.run_command(environment, command(mode, server))
      raise Unavailable, "#{mode}: #{err.lines.first(6).join}" unless status.success?

      report = JSON.parse(out)
      Run.new(results: JSON.parse(mask(JSON.generate(report["results"]), server)), version: report["version"],
              sent: server.raw_requests.map { |raw| comparable(raw, server) }, connections: server.connection_count)
    ensure
      server&.stop
    end

    def serve
      sdk = @sdk.new
      ScriptedServer.new(tls: (TestCA.server_context if @about.tls)) do |connection|
        while (request = connection.read_request { |head| continue(connection, head) })
          bytes = sdk.respond(request)
          head = bytes[/\A.*?\r\n\r\n/m]
          connection << (request.verb == "HEAD" ? head : bytes)
          break if request["connection"]&.casecmp?("close") || head.match?(/^connection: close\r$/i)
        end
      end
    end

    def continue(connection, head)
      connection << "HTTP/1.1 100 Continue\r\n\r\n" if head.match?(/^expect: *100-continue/i)
    end

    def environment
      { **PROXIES, **SeparateBundle.setup_environment("sdks", without: ("others" if @about.common)),
        "HOME" => Dir.tmpdir, "SSL_CERT_FILE" => TestCA.ca_file,
        "FORCED" => File.join(FORCED, "gems/#{@about.gem}-#{@about.forced}/lib") }
    end

    def command(mode, server)
      url = server.url("", host: @about.tls ? "localhost" : nil)
      [RbConfig.ruby, "-W0", "-I", Subprocess::LIB, File.join(__dir__, "program.rb"), @sdk.file, mode, url,
       TestCA.ca_file]
    end

    def comparable(raw, server)
      text = raw.b
      boundary = text[BOUNDARY, 1]
      text = text.gsub(boundary, "BOUNDARY") if boundary
      mask(text.gsub(FIELDS, ""), server)
    end

    def mask(text, server)
      RANDOM.reduce(text.gsub(/(?<!\d)#{server.port}(?!\d)/, "PORT")) { |masked, (from, to)| masked.gsub(from, to) }
    end
  end
end
