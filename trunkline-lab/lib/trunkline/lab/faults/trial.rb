# frozen_string_literal: true

require "digest"
require_relative "../origins/scripted"
require_relative "../preloaded"
require_relative "fault"
require_relative "http2/frame_connection"
require_relative "identities"

module Trunkline
  module Lab
    module Faults
      # Makes one call to a faulty server and then another one with the same client, and reports how both ended.
      class Trial
        TIMEOUT = 1    # seconds, of the client
        LIMIT = 5      # seconds after which a call counts as hung; its process is killed after the limits of both calls
        LATE = 0.75    # share of the timeout from which on the time is reported
        GOOD = "good"
        WITH_BODY = %i[post put patch].freeze
        NOT_TRIED = { told: "-", outcome: "not tried" }.freeze

        # @param preloaded [Preloaded]
        # @param identities [Identities]
        # @param authority [String] path of the trusted authority
        def initialize(preloaded, identities, authority)
          @preloaded = preloaded
          @peer = preloaded.peer
          @identities = identities
          @authority = authority
        end

        # @param fault [Fault]
        # @return [Hash] told: for a table; outcome: "answer", "other bytes", "as sent", "error", "no end", "crash",
        #   "not tried"; seconds; error: its class; sent: how often the server got the request; after: result of the
        #   call that followed, "good" or another
        def run(fault)
          return NOT_TRIED if fault.untried || !able?(fault)

          @fault = fault
          @sent = 0
          found = serve_fault { |base| call_twice(base) }
          return NOT_TRIED if fault.request_received? && @sent.zero?

          found.merge(told: summary(found))
        end

        private

        def able?(fault)
          return false if fault.http2 && !@peer.speaks.include?(:http2)

          !(fault.follow && @peer.lacks.include?(:redirects))
        end

        def serve_fault(&block)
          return serve(frames, :http2, &block) if @fault.http2

          case @fault.place
          when nil then serve(script, @fault.tls ? :right : nil, &block)
          when :full_queue then Origins::FullQueue.open(&block)
          when :silent then Origins::Scripted.open(:stall.to_proc) { |server| yield server.tls }
          else serve(->(connection) { connection.answer("ok") while connection.request }, @fault.identity, &block)
          end
        end

        def serve(script, identity)
          tls = identity && @identities.context(identity)
          Origins::Scripted.open(script, tls: tls) { |server| yield tls ? server.tls : server.plain }
        end

        # "/good" gets a valid response; any other path gets the fault.
        def script
          lambda do |connection|
            while (request = @fault.upload ? connection.head : connection.request)
              next connection.answer(GOOD) if request.target == "/good"

              @sent += 1 if request.target == "/"
              @fault.script.call(connection)
            end
          end
        end

        # The script for HTTP/2. A connection that does not begin with HTTP/2's preface is closed without a response.
        def frames
          options = { grants: @fault.upload ? :never : :arrived, fallback: ->(connection, _) { connection.close } }
          lambda do |connection|
            HTTP2::FrameConnection.new(connection, **options) do |stream|
              next stream.answer(GOOD) if stream.target == "/good"

              @sent += 1
              @fault.script.call(stream)
            end.serve
          end
        end

        def call_twice(base)
          options = { base: base, timeout: TIMEOUT, follow: @fault.follow || false }
          options[:ca_file] = @authority if base.start_with?("https")
          options[:http] = "h2" if @fault.http2
          result = @preloaded.process(**options) do |process|
            process.ask(:pair_with_fault, call: call_of_fault, **@fault.to_h.slice(:upload, :warm, :pause),
                                          follow_up: @fault.request_received?, limit: 2 * LIMIT)
          end
          outcome(result)
        rescue PeerProcess::Failed => error
          failure_outcome(error.message)
        end

        # An exception that is not a StandardError, or that the preceding good call raised, is reported with its class.
        def failure_outcome(message)
          case message
          when /\Ano reply within/ then { outcome: "no end", sent: @sent }
          when /\Aended/ then { outcome: "crash", sent: @sent }
          else { outcome: "error", error: message[/\A[\w:]+(?=: )/], sent: @sent }
          end
        end

        def call_of_fault
          body = "order" if WITH_BODY.include?(@fault.verb)
          { verb: @fault.verb.to_s.upcase, path: "/", headers: @fault.headers, body: body }
        end

        def outcome(result)
          return { outcome: "no end", sent: @sent } if result[:seconds] > LIMIT

          kind = result[:error] ? "error" : body_outcome(result)
          result.slice(:seconds, :error, :bytes, :after).merge(outcome: kind, sent: @sent)
        end

        def body_outcome(result)
          case result[:digest]
          when digest(@fault.body) then "answer"
          when digest(@fault.coded) then "as sent"
          else result[:body] == "ok" ? "answer" : "other bytes"
          end
        end

        def digest(body) = body && Digest::SHA256.hexdigest(body)

        def summary(found)
          words = [found[:outcome] == "other bytes" ? "#{found[:bytes]} bytes" : found[:outcome]]
          words << format("%.1f s", found[:seconds]) if found[:seconds].to_f > TIMEOUT * LATE
          words << "sent #{found[:sent]} times" if @fault.warm && found[:sent] > 1
          words << "next call: #{found[:after] == "error" ? "error" : "a wrong answer"}" if follow_up_failed?(found)
          words.join(", ")
        end

        def follow_up_failed?(found) = !["good", nil].include?(found[:after])
      end
    end
  end
end
