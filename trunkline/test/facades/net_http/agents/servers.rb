# frozen_string_literal: true

require_relative "../../../support/answers"
require_relative "../../../support/full_backlog"
require_relative "../../../support/scripted_server"
require_relative "../../../support/test_ca"
require_relative "calls"

module Agents
  # The servers of one run, by name, and what they were sent.
  class Servers
    OK = Answers.answer("hello", "Content-Type" => "text/plain", "X-Server" => "1")
    ANSWERS = {
      "/ok" => ->(connection) { connection << OK },
      "/last" => lambda { |connection|
        (connection << OK.sub("Content-Type", "Connection: close\r\nContent-Type")) && connection.close
      },
      "/missing" => ->(connection) { connection << Answers.answer("no", status: "404 Not Found") },
      "/failing" => ->(connection) { connection << Answers.answer("sorry", status: "500 Internal Server Error") },
      "/chunked" => ->(connection) { connection << Answers.chunked_answer("one", "two", "three") },
      "/reset" => :reset.to_proc,
      "/closed" => :close.to_proc,
      "/silent" => :stall.to_proc,
      "/stalled" => ->(connection) { (connection << Answers.answer("hello")[0..-3]) && connection.stall }
    }.freeze
    # What of a request is compared. Whether a connection is shared is a documented difference; an adapter of Faraday
    # has fields of its own, and may capitalize them.
    COMPARED = {
      "net_http" => ->(raw) { raw.sub(/^connection: [^\r]*\r\n/i, "") },
      "faraday" => lambda do |raw|
        raw.gsub(/^(connection|accept|accept-encoding|host): [^\r]*\r\n/i, "").gsub(/^[\w-]+(?=: )/, &:downcase)
      end
    }.freeze
    TLS = { secure: -> { TestCA.server_context }, untrusted: -> { TestCA.server_context(:unknown_ca) } }.freeze
    attr_reader :ca_file

    def initialize
      @ca_file = TestCA.ca_file
      names = Calls::CASES.values.flatten - %i[refused full]
      @scripted = names.to_h { |name| [name, ScriptedServer.new(tls: TLS[name]&.call, &method(:serve))] }
      @refused = Socket.new(:INET, :STREAM)
      @refused.bind(Addrinfo.tcp("127.0.0.1", 0))
      @full = FullBacklog.new
    end

    def ports
      @scripted.transform_values(&:port).merge(refused: @refused.local_address.ip_port, full: @full.port)
    end

    # @param name [String] of a case
    # @param level [String] a key of COMPARED
    # @return [Hash{Symbol => Array<String>}] the requests of each server of the case
    def sent(name, level)
      @scripted.slice(*Calls::CASES.fetch(name)).transform_values do |server|
        server.raw_requests.map(&COMPARED.fetch(level))
      end
    end

    # @param name [Symbol] of a server
    def connections(name) = @scripted.fetch(name).connection_count

    def stop
      [*@scripted.values, @full].each(&:stop)
      @refused.close
    end

    private

    # HEAD has no body.
    def serve(connection)
      while (request = connection.read_request)
        next connection << OK.sub(/hello\z/, "") if request.verb == "HEAD"

        ANSWERS.fetch(request.target[%r{\A(?:http://[^/]+)?([^?]*)}, 1]).call(connection)
        return if connection.tcp.closed?
      end
    end
  end
end
