# frozen_string_literal: true

require_relative "../../../support/responses"
require_relative "../../../support/full_backlog"
require_relative "../../../support/scripted_server"
require_relative "../../../support/certificate_authority"
require_relative "calls"

module Agents
  # The servers of one run, by name, and the requests that they received.
  class Servers
    OK = Responses.response_bytes("hello", "Content-Type" => "text/plain", "X-Server" => "1")
    ANSWERS = {
      "/ok" => ->(connection) { connection << OK },
      "/last" => lambda { |connection|
        (connection << OK.sub("Content-Type", "Connection: close\r\nContent-Type")) && connection.close
      },
      "/missing" => ->(connection) { connection << Responses.response_bytes("no", status: "404 Not Found") },
      "/failing" => lambda do |connection|
        connection << Responses.response_bytes("sorry", status: "500 Internal Server Error")
      end,
      "/chunked" => ->(connection) { connection << Responses.chunked_response("one", "two", "three") },
      "/reset" => :reset.to_proc,
      "/closed" => :close.to_proc,
      "/silent" => :stall.to_proc,
      "/stalled" => ->(connection) { (connection << Responses.response_bytes("hello")[0..-3]) && connection.stall }
    }.freeze
    # Reduces a request to the parts that are compared. Whether a connection is shared is a documented difference; a
    # Faraday adapter sends header fields of its own, and may capitalise names differently.
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

    # @param name [String] the name of a case
    # @param level [String] a key of COMPARED
    # @return [Hash{Symbol => Array<String>}] the requests of each server of the case
    def sent(name, level)
      @scripted.slice(*Calls::CASES.fetch(name)).transform_values do |server|
        server.raw_requests.map(&COMPARED.fetch(level))
      end
    end

    # @param name [Symbol] the name of a server
    def connections(name) = @scripted.fetch(name).connection_count

    def stop
      [*@scripted.values, @full].each(&:stop)
      @refused.close
    end

    private

    # A response to HEAD has no body.
    def serve(connection)
      while (request = connection.read_request)
        next connection << OK.sub(/hello\z/, "") if request.verb == "HEAD"

        ANSWERS.fetch(request.target[%r{\A(?:http://[^/]+)?([^?]*)}, 1]).call(connection)
        return if connection.tcp.closed?
      end
    end
  end
end
