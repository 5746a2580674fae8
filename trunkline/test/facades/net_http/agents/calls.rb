# frozen_string_literal: true

require "net/http"
require "stringio"

module Agents
  # The calls that each run makes with Net::HTTP, and their results for the caller. Each case calls servers of its own,
  # so that a circuit breaker opened by one case is not open in the next.
  class Calls
    # The servers of each case, in the order of its calls; see Servers for their responses.
    CASES = {
      "GET" => %i[get secure], "POST" => %i[post failing], "stream" => %i[stream],
      "error" => %i[refused reset closed cut untrusted], "timeout" => %i[silent stalled full]
    }.freeze

    # Enough errors for a circuit breaker that opens after two.
    REPEATED = 3

    # The value or exception of each call, and the messages that may differ.
    attr_reader :results, :messages

    # @param ports [Hash{Symbol => Integer}] by the server's name
    # @param ca_file [String] the authority that signed the secure server's certificate
    def initialize(ports, ca_file)
      @ports = ports
      @ca_file = ca_file
      @results = []
      @messages = []
    end

    def perform(name) = send(name.downcase)

    private

    def get
      note { Net::HTTP.get_response(uri(:get, "/ok?page=2")) }
      note { Net::HTTP.get_response(uri(:get, "/missing"), "X-Mine" => "1") }
      note { session(:get) { |http| [http.get("/ok"), http.request(Net::HTTP::Head.new("/ok"))] } }
      note { Net::HTTP.new("127.0.0.1", @ports[:get]).get("/ok", "Accept" => "text/plain") }
      note { Net::HTTP.get(uri(:get, "/ok")) }
      note { session(:get) { |http| [http.get("/last"), http.get("/ok")] } } # the server closes after the first
      note { session(:get, keep_alive_timeout: 0.05) { |http| [http.get("/ok"), sleep(0.2) && http.get("/ok")] } }
      note { Net::HTTP.start("name#{@ports[:get]}.test", 80, "127.0.0.1", @ports[:get]) { |http| http.get("/ok") } }
      note { session(:secure, use_ssl: true, ca_file: @ca_file) { |http| [http.get("/ok"), http.get("/ok")] } }
    end

    def post
      note { Net::HTTP.post(uri(:post, "/ok"), '{"a":1}', "Content-Type" => "application/json") }
      note { Net::HTTP.post_form(uri(:post, "/ok"), "a" => "1") }
      note { session(:post) { |http| [http.post("/ok", "text"), http.request(put), http.delete("/ok")] } }
      REPEATED.times { note { session(:failing) { |http| http.post("/failing", "a=1") } } }
    end

    def put
      Net::HTTP::Put.new("/ok", "Content-Length" => "6", "Content-Type" => "text/plain").tap do |request|
        request.body_stream = StringIO.new("stream")
      end
    end

    def stream
      note { session(:stream) { |http| pieces { |take| http.request_get("/chunked") { |got| got.read_body(&take) } } } }
      note { session(:stream) { |http| pieces { |take| http.get("/chunked", &take) } } }
      note { session(:stream) { |http| http.request_get("/chunked") { |got| got.read_body(@to = +"") } && @to } }
      note { session(:stream) { |http| http.request_get("/chunked") { raise ArgumentError, "from the block" } } }
      note { session(:stream) { |http| http.request_get("/chunked") { |got| break got.code } } }
    end

    def error
      REPEATED.times { note { session(:refused) { |http| http.get("/ok") } } }
      note { Net::HTTP.get_response(uri(:refused, "/ok")) }
      REPEATED.times { note { session(:reset) { |http| http.get("/reset") } } }
      REPEATED.times { note { session(:closed) { |http| http.post("/closed", "a=1") } } }
      # a session goes on after an error
      note do
        session(:cut) do |http|
          [rescued do
            http.get("/reset")
          end, http.get("/ok")]
        end
      end
      note { session(:untrusted, use_ssl: true, ca_file: @ca_file) { |http| http.get("/ok") } }
    end

    def timeout
      REPEATED.times { note { session(:silent, read_timeout: 0.2) { |http| http.get("/silent") } } }
      REPEATED.times { note { session(:stalled, read_timeout: 0.2) { |http| http.post("/stalled", "a=1") } } }
      REPEATED.times { note { session(:full, open_timeout: 0.1) { |http| http.get("/ok") } } }
    end

    def uri(server, target) = URI("http://127.0.0.1:#{@ports.fetch(server)}#{target}")

    # Turns off Net::HTTP's second attempt, which is one of the documented differences.
    def session(server, **options, &block)
      Net::HTTP.start("127.0.0.1", @ports.fetch(server), max_retries: 0, read_timeout: 10, **options, &block)
    end

    def rescued
      yield
    rescue SystemCallError => error
      described(error)
    end

    def pieces
      got = []
      [yield(->(piece) { got << piece }), got.join]
    end

    def note
      @results << plain(yield)
    rescue StandardError, SystemStackError => error
      @results << described(error)
    end

    def described(error)
      @messages << error.message if own_message?(error)
      { error: error.class.name, message: error.message,
        ancestors: (error.class.ancestors - Object.ancestors).map(&:to_s) }
    end

    # OpenSSL's messages for Net::HTTP contain states and source lines, which Trunkline's do not.
    def own_message?(error) = error.is_a?(OpenSSL::SSL::SSLError)

    def plain(value)
      case value
      when Array then value.map { |one| plain(one) }
      when Net::HTTPResponse then response(value)
      when Net::ReadAdapter then value.class.name
      else value
      end
    end

    def response(got)
      { class: got.class.name, status: got.code, message: got.message, headers: got.each_capitalized.to_a,
        body: plain(got.body) }
    end
  end
end
