# frozen_string_literal: true

require "erb"
require "json"
require "securerandom"
require_relative "../bulk"

module Trunkline
  class Bulk
    # A Rack application with a page that shows the runs of a state, and can change them. The page loads nothing from
    # other servers.
    #
    #   # config/routes.rb
    #   authenticate(:admin) { mount Trunkline::Bulk::Web => "/bulk" }
    #
    # Anyone who can open the page can change runs, unless it was made with actions: false. The application must
    # restrict access to it.
    class Web
      PAGE = ERB.new(File.read(File.join(__dir__, "web/page.html.erb")), trim_mode: "-")
      # The actions on a run, and the states in which each is offered.
      ACTIONS = { "pause" => %i[running], "resume" => %i[paused cancelled], "cancel" => %i[running paused],
                  "retry_failed" => %i[running paused done] }.freeze
      # The maximum number of runs that are shown: the newest.
      MOST = 50
      # A required header field, which pages of other sites cannot send.
      FIELD = "HTTP_X_TRUNKLINE_BULK"
      private_constant :ACTIONS, :FIELD, :MOST, :PAGE

      # Makes the class itself a Rack application, with Bulk.configuration.state.
      # @param env [Hash]
      # @return [Array(Integer, Hash, Array<String>)]
      def self.call(env) = (@default ||= new).call(env)

      # @param state [String, Pathname, Symbol, State, nil] as of Bulk.start
      # @param actions [Boolean] whether runs can be changed
      def initialize(state: nil, actions: true)
        @state = state
        @actions = actions
      end

      # @param env [Hash]
      # @return [Array(Integer, Hash, Array<String>)]
      def call(env)
        path = env["PATH_INFO"].to_s.delete_suffix("/")
        case [env["REQUEST_METHOD"], path]
        in ["GET", ""] then page(env["SCRIPT_NAME"].to_s)
        in ["GET", "/runs.json"] then json(200, runs)
        in ["POST", "/change"] then change(env)
        else json(404, { error: "there is no such page" })
        end
      end

      private

      def state = State.of(@state || Bulk.configuration.state)

      def page(base)
        nonce = SecureRandom.base64(16)
        html = PAGE.result_with_hash(base: base, nonce: nonce, first: escaped(runs))
        policy = "default-src 'none'; connect-src 'self'; style-src 'nonce-#{nonce}'; script-src 'nonce-#{nonce}'; " \
                 "frame-ancestors 'self'; base-uri 'none'"
        [200, { "content-type" => "text/html; charset=utf-8", "content-security-policy" => policy,
                "cache-control" => "no-store" }, [html]]
      end

      def runs = state.runs.first(MOST).map { |run| summary(run) }

      def summary(run)
        status = RunStatus.new(run.key, run)
        actions = @actions ? ACTIONS.filter_map { |name, states| name if offered?(name, states, run) } : []
        { key: run.key, state: run.state, total: run.total, done: run.done, failed: run.failed, counts: run.counts,
          rate: status.rate, eta: status.eta, in_flight: status.in_flight, slices: run.slices,
          slowest: status.slowest_origins.map(&:to_s), began: run.began.utc.iso8601, actions: actions }
      end

      def offered?(name, states, run) = states.include?(run.state) && (name != "retry_failed" || run.failed.positive?)

      def change(env)
        return json(403, { error: "runs cannot be changed here" }) unless @actions && env[FIELD]

        key, action = JSON.parse(env["rack.input"].read(10_000).to_s).values_at("key", "action")
        run = state.run(key.to_s)
        return json(404, { error: "there is no such run" }) if run.nil?
        return json(422, { error: "there is no such action" }) unless ACTIONS.key?(action)

        bulk, name = class_of(run.key)
        return json(422, { error: "its class is not loaded here" }) if bulk.nil?

        bulk.public_send(action, name, state: state)
        json(200, summary(state.run(run.key)))
      rescue JSON::ParserError, NoMethodError, TypeError
        json(400, { error: "the body is to be JSON with key and action" })
      end

      # @return [Array(Class, String), nil]
      def class_of(key)
        class_name, name = key.split("/", 2)
        bulk = Object.const_get(class_name)
        [bulk, name] if bulk.is_a?(Class) && bulk < Bulk
      rescue NameError
        nil
      end

      def json(status, value)
        [status, { "content-type" => "application/json", "cache-control" => "no-store" }, [JSON.generate(value)]]
      end

      # Escapes JSON for a script element.
      def escaped(value) = JSON.generate(value).gsub(/[<>&\u2028\u2029]/) { |char| format('\\u%04x', char.ord) }
    end
  end
end
