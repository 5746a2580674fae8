# frozen_string_literal: true

require "uri"

module Trunkline
  module Lab
    # One HTTP client under measurement: how it is installed, opened and called. Each peer is one file in peers/.
    # The lab reads label and gems from the class; a worker process that has those gems makes an instance of it.
    class Peer
      class << self
        # @return [Array<Class>] each client by its defaults
        def all = of("peers")

        # @return [Array<Class>] clients that repeat what has failed or is late, for the experiments about that
        def with_policies = of("peers/policies")

        # @return [Peer, nil] by id, "net_http"
        def named(id) = all.find { |peer| peer.id == id }

        def inherited(subclass)
          super
          subclass.file = caller_locations(1..1).first.absolute_path
          Peer.known << subclass
        end

        def known = @known ||= []

        attr_accessor :file

        def id = File.basename(file, ".rb")

        # The name that its gems are kept under: its superclass's when they are the same.
        def bundle = superclass < Peer && superclass.gems == gems ? superclass.bundle : id

        def label(text = nil) = told(:@label, text)

        # Name => requirement, as in a Gemfile. Nothing: the client comes with Ruby.
        def gems(requirements = nil) = told(:@gems, requirements) || {}

        # The Ruby that the peer needs, for example ">= 3.3".
        def ruby(requirement = nil) = told(:@ruby, requirement)

        # What it cannot do by its nature: :redirects (it follows none), :fork
        def lacks(*features) = told(:@lacks, features.any? ? features : nil) || []

        # What it can do besides, when it is told to: :http2
        def speaks(*protocols) = told(:@speaks, protocols.any? ? protocols : nil) || []

        # Gems of ours that it needs, as they are loaded here.
        def ours(*names) = told(:@ours, names.any? ? names : nil) || []

        # Another Ruby that its worker runs on, and that has its gems.
        # @return [#command, #environment, nil] words that start it, and variables; nil: this Ruby
        def runtime = nil

        # Whether it is our client itself.
        def ours? = ours.include?("trunkline")

        # @param process [PeerProcess] that has its gems
        # @return [String, nil] its gems with their versions; nil: it comes with Ruby
        def versions(process)
          return "Trunkline #{::Trunkline::VERSION}" if ours?

          found = process.ask(:versions, names: gems.keys)
          found.map { |name, version| "#{name} #{version}" }.join(" with ") if found.any?
        end

        # Why the peer cannot run on this Ruby, or nil.
        def missing
          return if ruby.nil? || Gem::Requirement.new(ruby).satisfied_by?(Gem::Version.new(RUBY_VERSION))

          "needs Ruby #{ruby}, this is #{RUBY_VERSION}"
        end

        private

        def of(folder)
          path = File.join(__dir__, folder)
          Dir[File.join(path, "*.rb")].each { |file| require file }
          known.select { |peer| File.dirname(peer.file) == path }
        end

        # Subclasses inherit what their superclass was declared with.
        def told(name, value)
          return instance_variable_set(name, value) if value

          instance_variable_get(name) || (superclass.send(:told, name, nil) if superclass <= Peer)
        end
      end

      # What a call sends.
      Call = Struct.new(:verb, :path, :headers, :body, keyword_init: true) do
        def self.of(verb: "GET", path: "/", headers: {}, body: nil)
          new(verb: verb, path: path, headers: headers.transform_keys(&:to_s), body: body)
        end
      end

      # @param base [String] "https://127.0.0.1:4433"
      # @param ca_file [String, nil] the authorities to trust
      # @param timeout [Numeric] seconds, set the way that the client's users set it
      # @param keep [Boolean] one client for all calls, or a new client for each
      # @param follow [Boolean] redirects
      # @param http [String, nil] "h1", "h2" or "auto", for those that can choose; nil: as the client is
      def initialize(base:, ca_file: nil, timeout: 10, keep: true, follow: false, insecure: false, http: nil)
        @base = base
        @ca_file = ca_file
        @timeout = timeout
        @keep = keep
        @follow = follow
        @insecure = insecure
        @http = http
      end

      # As in #initialize; to be set before #open.
      attr_writer :keep

      def uri = @uri ||= URI(@base)

      # Loads the client's code, so that it is no part of what is timed.
      def prepare = close(open)

      # @return [Array(Integer, String)] status and body
      def call(call)
        return exchange(@client ||= open, call) if @keep

        client = open
        begin
          exchange(client, call)
        ensure
          close(client)
        end
      end

      # GETs one after the other, with as little as can be between the client and what is measured.
      # @param paths [#next] the path of each
      # @raise [RuntimeError] when one is not answered with 200
      def gets(paths, count)
        one = Call.of
        client = @client ||= open if @keep
        count.times do
          one.path = paths.next
          status, = client ? exchange(client, one) : call(one)
          raise "status #{status}" unless status == 200
        end
      end

      # One call by the kept client, with the client's own timings.
      # @return [Array(Integer, String, Hash)] status and body; of total: and gvl:, in seconds, those that it tells
      def timed(call) = [*exchange(@client ||= open, call), {}]

      # @return [Boolean] whether it can give a body as it comes
      def streams? = respond_to?(:pieces, true)

      # One GET by a client of its own, whose body is given as it comes.
      # @yield [bytes]
      def stream(call, &block)
        client = open
        pieces(client, call, &block)
      ensure
        close(client) if client
      end

      # Runs a series of calls inside what the client needs around them, such as an event loop.
      def session = yield

      def finish
        [@client, *@clients].compact.each { |client| close(client) }
        @client = @clients = nil
      end

      # Calls with so many in flight, as long as there are any. By threads, each with a client of its own, unless the
      # client has its own way.
      # @param calls [Calls]
      # @param recorder [Recorder]
      def many(calls, concurrency, recorder)
        @clients ||= []
        @clients << open while @clients.size < concurrency
        @clients.first(concurrency).map { |client| Thread.new { make(client, calls, recorder) } }.each(&:join)
      end

      private

      def make(client, calls, recorder)
        while (call = calls.next)
          recorder.time do
            status, body = exchange(client, call)
            [status, calls.read(status, body)]
          end
        end
      end

      def url(call) = "#{@base}#{call.path}"

      def trusting_context
        require "openssl"
        OpenSSL::SSL::SSLContext.new.tap do |context|
          context.set_params(@ca_file ? { ca_file: @ca_file } : {})
          context.verify_mode = OpenSSL::SSL::VERIFY_NONE if @insecure
        end
      end

      def close(_client) = nil
    end

    # One class for each client.
    module Peers
    end
  end
end
