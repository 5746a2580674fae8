# frozen_string_literal: true

require "uri"

module Trunkline
  module Lab
    # One HTTP client under measurement: how it is installed, opened and called. Each peer is one file in peers/. The
    # lab reads label and gems from the class; a worker process with those gems creates the instance.
    class Peer
      class << self
        # @return [Array<Class>] each client with its defaults
        def all = of("peers")

        # @return [Array<Class>] clients with retries or hedging, for the experiments about these
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

        # The name under which the gems are stored: that of the superclass when both have the same gems.
        def bundle = superclass < Peer && superclass.gems == gems ? superclass.bundle : id

        def label(text = nil) = declaration(:@label, text)

        # Name => requirement, as in a Gemfile. Empty for a client that comes with Ruby.
        def gems(requirements = nil) = declaration(:@gems, requirements) || {}

        # Version of Ruby that the peer needs, for example ">= 3.3".
        def ruby(requirement = nil) = declaration(:@ruby, requirement)

        # Features that the client does not have: :redirects (it does not follow them), :fork
        def lacks(*features) = declaration(:@lacks, features.any? ? features : nil) || []

        # Features that the client has as an option: :http2
        def speaks(*protocols) = declaration(:@speaks, protocols.any? ? protocols : nil) || []

        # Gems of this process that the peer needs, used from where they are loaded.
        def local_gems(*names) = declaration(:@local_gems, names.any? ? names : nil) || []

        # Another Ruby that runs the peer's worker and has its gems.
        # @return [#command, #environment, nil] the command line to start it, and its variables; nil for this Ruby
        def runtime = nil

        # Whether the peer is Trunkline.
        def trunkline? = local_gems.include?("trunkline")

        # @param process [PeerProcess] with the peer's gems
        # @return [String, nil] the peer's gems with their versions; nil for a client that comes with Ruby
        def versions(process)
          return "Trunkline #{::Trunkline::VERSION}" if trunkline?

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

        # Subclasses inherit the declarations of their superclass.
        def declaration(name, value)
          return instance_variable_set(name, value) if value

          instance_variable_get(name) || (superclass.send(:declaration, name, nil) if superclass <= Peer)
        end
      end

      # The request of a call.
      Call = Struct.new(:verb, :path, :headers, :body, keyword_init: true) do
        def self.of(verb: "GET", path: "/", headers: {}, body: nil)
          new(verb: verb, path: path, headers: headers.transform_keys(&:to_s), body: body)
        end
      end

      # @param base [String] "https://127.0.0.1:4433"
      # @param ca_file [String, nil] trusted certificate authorities
      # @param timeout [Numeric] seconds, set in the way that users of the client set it
      # @param keep [Boolean] whether one client makes all calls; false for a new client for each
      # @param follow [Boolean] whether redirects are followed
      # @param http [String, nil] "h1", "h2" or "auto", for clients with that option; nil for the client's default
      def initialize(base:, ca_file: nil, timeout: 10, keep: true, follow: false, insecure: false, http: nil)
        @base = base
        @ca_file = ca_file
        @timeout = timeout
        @keep = keep
        @follow = follow
        @insecure = insecure
        @http = http
      end

      # See #initialize; must be set before #open.
      attr_writer :keep

      def uri = @uri ||= URI(@base)

      # Loads the client's code, so that loading is not measured.
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

      # GETs one after another, with as little overhead around the client as possible.
      # @param paths [#next] path of each GET
      # @raise [RuntimeError] when a status is not 200
      def gets(paths, count)
        get = Call.of
        client = @client ||= open if @keep
        count.times do
          get.path = paths.next
          status, = client ? exchange(client, get) : call(get)
          raise "status #{status}" unless status == 200
        end
      end

      # Makes one call with the kept client, and returns the client's timings.
      # @return [Array(Integer, String, Hash)] status and body; and total: and gvl:, in seconds, as far as the client
      #   reports them
      def timed(call) = [*exchange(@client ||= open, call), {}]

      # @return [Boolean] whether the client can stream a body
      def streams? = respond_to?(:pieces, true)

      # Makes one GET with a new client and streams its body.
      # @yield [bytes]
      def stream(call, &block)
        client = open
        pieces(client, call, &block)
      ensure
        close(client) if client
      end

      # Runs a series of calls in the environment that the client needs, such as an event loop.
      def session = yield

      def finish
        [@client, *@clients].compact.each { |client| close(client) }
        @client = @clients = nil
      end

      # Makes calls with `concurrency` of them in flight until there are no more. By default each thread has a client; a
      # client with a concurrent interface overrides this method.
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

    # Contains a class for each client.
    module Peers
    end
  end
end
