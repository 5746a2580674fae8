# frozen_string_literal: true

require "json"
require "open3"
require_relative "../../../support/separate_bundle"
require_relative "../../../support/subprocess"
require_relative "calls"
require_relative "mask"
require_relative "servers"

module Agents
  # Runs one agent with plain Net::HTTP, and with install! in both orders, each in a separate process with its own
  # servers, and reports differences in the results for the caller, the agent's records and the requests to the servers.
  class Comparison
    Agent = Struct.new(:title, :gem, :file, :environment, :common, :level, keyword_init: true) do
      def initialize(level: "net_http", **rest) = super
    end

    ROOT = File.expand_path("../../../../..", __dir__)

    AGENTS = [
      Agent.new(title: "OpenTelemetry", gem: "opentelemetry-instrumentation-net_http", file: "opentelemetry",
                common: true),
      Agent.new(title: "OpenTelemetry, `http` conventions", gem: "opentelemetry-instrumentation-net_http",
                file: "opentelemetry", environment: { "OTEL_SEMCONV_STABILITY_OPT_IN" => "http" }),
      Agent.new(title: "Sentry", gem: "sentry-ruby", file: "sentry", common: true),
      Agent.new(title: "Datadog", gem: "datadog", file: "datadog", common: true),
      Agent.new(title: "Semian", gem: "semian", file: "semian", common: true),
      Agent.new(title: "OpenTelemetry, Sentry, Datadog and Semian together", file: "together", common: true),
      Agent.new(title: "WebMock", gem: "webmock", file: "webmock", common: true),
      Agent.new(title: "VCR", gem: "vcr", file: "vcr"),
      Agent.new(title: "New Relic", gem: "newrelic_rpm", file: "newrelic"),
      Agent.new(title: "New Relic, by alias", gem: "newrelic_rpm", file: "newrelic",
                environment: { "NEW_RELIC_INSTRUMENTATION_NET_HTTP" => "chain" }),
      Agent.new(title: "AppSignal", gem: "appsignal", file: "appsignal"),
      Agent.new(title: "Elastic APM", gem: "elastic-apm", file: "elastic_apm"),
      Agent.new(title: "httplog", gem: "httplog", file: "httplog"),
      Agent.new(title: "rack-mini-profiler", gem: "rack-mini-profiler", file: "rack_mini_profiler"),
      Agent.new(title: "rack-mini-profiler, by prepend", gem: "rack-mini-profiler", file: "rack_mini_profiler",
                environment: { "PREPEND_NET_HTTP" => "1" }),
      Agent.new(title: "OpenTelemetry", gem: "opentelemetry-instrumentation-faraday", file: "opentelemetry",
                level: "faraday", common: true),
      Agent.new(title: "Sentry", gem: "sentry-ruby", file: "sentry", level: "faraday", common: true),
      Agent.new(title: "Datadog", gem: "datadog", file: "datadog", level: "faraday", common: true),
      Agent.new(title: "AppSignal", gem: "appsignal", file: "appsignal", level: "faraday"),
      Agent.new(title: "Elastic APM", gem: "elastic-apm", file: "elastic_apm", level: "faraday")
    ].freeze

    ORDERS = %w[agent_first install_first].freeze

    # If Trunkline was not used, equal results mean nothing.
    SAME_CONNECTIONS = "as many connections as without Trunkline, so it was not used"

    Unavailable = Class.new(StandardError)

    # Returns the environment of programs that run with the agents' bundle.
    #
    # @param common [Boolean] whether the most used agents are enough
    def self.environment(common:)
      SeparateBundle.setup_environment("agents", without: common ? "others" : nil)
    end

    # The results of the three runs of an agent.
    #
    # versions: of the gems that were loaded
    # orders: {order => {case => differences from plain Net::HTTP, none when equal}}
    Result = Struct.new(:versions, :orders, keyword_init: true)

    # @param agent [Agent]
    def initialize(agent)
      @agent = agent
    end

    # @return [Result]
    # @raise [Unavailable] when the agent does not run with plain Net::HTTP
    def call
      # Created outside the threads, since TestCA is not thread-safe while it creates its authority.
      servers = ["plain", *ORDERS].map { |order| [order, Servers.new] }
      plain, *installed = servers.map { |order, own| Thread.new { run(order, own) } }.map(&:value)
      raise Unavailable, plain["failure"] if plain["failure"]
      raise Unavailable, "it saw nothing of the calls" unless plain["cases"]["GET"]["agent"].to_s.match?(%r{/ok|127\.0})

      orders = ORDERS.zip(installed).to_h { |order, report| [order, compare(plain, report)] }
      Result.new(versions: plain["versions"], orders: orders)
    end

    # @return [Hash] "failure", or "versions", "connections" (how many were opened for GET) and "cases": the results for
    #   the caller, the agent's records, the requests
    def run(order, servers)
      out, err, status = Subprocess.run_command(environment, command(order, servers))
      return { "failure" => err.lines.first(3).join } unless status.success? && !out.empty?

      mask = Mask.new(servers.ports.values)
      report = JSON.parse(out)
      report["cases"].each do |name, seen|
        seen["server"] = JSON.parse(JSON.generate(mask.call(servers.sent(name, @agent.level))))
      end
      report.merge("connections" => servers.connections(:get))
    ensure
      servers.stop
    end

    private

    def environment
      { **Comparison.environment(common: @agent.common), "LEVEL" => @agent.level, **@agent.environment.to_h }
    end

    def command(order, servers)
      [RbConfig.ruby, "-I", Subprocess::LIB, File.join(__dir__, "program.rb"), @agent.file, order,
       JSON.generate(servers.ports), servers.ca_file]
    end

    def compare(plain, report)
      failure = report["failure"] || (SAME_CONNECTIONS if report["connections"] >= plain["connections"])
      plain["cases"].to_h do |name, expected|
        [name, failure ? [failure] : differences(expected, report["cases"][name])]
      end
    end

    # Returns each difference as "agent > 3 > name: expected ..., got ...".
    def differences(expected, got, path = [])
      return [] if expected == got

      if [expected, got].all?(Hash)
        (expected.keys | got.keys).flat_map { |key| differences(expected[key], got[key], [*path, key]) }
      elsif [expected, got].all?(Array)
        (0...[expected.size, got.size].max).flat_map { |at| differences(expected[at], got[at], [*path, at]) }
      else
        ["#{path.join(" > ")}: expected #{expected.inspect}, got #{got.inspect}"]
      end
    end
  end
end
