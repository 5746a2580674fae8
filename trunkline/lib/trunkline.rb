# frozen_string_literal: true

require_relative "trunkline/version"
require_relative "trunkline/engine"
require_relative "trunkline/client"
require_relative "trunkline/defaults"
require_relative "trunkline/events"
require_relative "trunkline/features"
require_relative "trunkline/lock"
require_relative "trunkline/verbs"

# An HTTP client with persistent connections. Every call has a timeout, and a request that the server may have processed
# is sent again only when an option allows it.
#
#   client = Trunkline.new("https://api.test", timeout: 5)
#   client.get("/users", params: { page: 2 }).json
#
#   Trunkline.get("https://api.test/users", timeout: 5).status
module Trunkline
  autoload :BearerRefresh, "#{__dir__}/trunkline/bearer_refresh"
  autoload :Cache, "#{__dir__}/trunkline/cache"
  autoload :CookieJar, "#{__dir__}/trunkline/cookie_jar"
  autoload :Recording, "#{__dir__}/trunkline/recording"
  autoload :Rack, "#{__dir__}/trunkline/rack"
  # NetHTTP and PersistentHttpClient load and can replace Net::HTTP, so their files are loaded only when a program names
  # them.
  autoload :NetHTTP, "#{__dir__}/trunkline/net_http"
  autoload :PersistentHttpClient, "#{__dir__}/trunkline/persistent_http_client"

  @lock = Lock.new

  class << self
    include Verbs

    # Makes a client.
    #
    # @param base_url [String, URI, nil] the base URL. A call's "users" is appended to its path, "/users" replaces its
    #   path; without a base URL, every call needs an absolute URL. Userinfo in it (https://user:password@api.test) sets
    #   basic:, unless basic: or bearer: is given
    # @param options [Hash] keywords: the options of docs/options.md (Options::TABLE). timeout: is required here, unless
    #   Trunkline.configure has set it. Client#with and single calls take the same options, except max_idle:
    # @return [Client]
    # @raise [MissingTimeout] when neither the options nor the defaults have a timeout
    # @raise [InvalidRequest] for an invalid URL, an unknown option or an invalid value
    # @raise [RactorError] in a Ractor other than the main one
    def new(base_url = nil, options = {})
      RactorError.refuse
      return new(nil, base_url) if base_url.is_a?(Hash)

      Arguments.options(options)
      base = URL.parse(base_url) if base_url
      options = { basic: base.userinfo, **options } if base&.userinfo && !options.key?(:bearer)
      merged = defaults.merge(options)
      raise MissingTimeout unless merged.timeout

      Client.new(base&.without_userinfo, merged, PoolHandle.make(options[:max_idle], default: defaults.max_idle))
    end

    # Sets defaults for the clients made from now on and for the verbs of Trunkline itself, and the limits of the
    # process.
    #
    # @yield [defaults] a Defaults: it has a writer for each option of Trunkline.new, for the limits that all clients
    #   share (max_connections and max_buffered_bytes, see Options::PROCESS_LIMITS), and for logger and require_timeouts
    # @return [nil]
    # @raise [InvalidRequest] without a block, for an unknown option, or for an invalid value; nothing has changed then
    # @raise [RactorError] in a Ractor other than the main one
    def configure(*arguments)
      RactorError.refuse
      unless arguments.empty? && block_given?
        raise InvalidRequest, "configure: takes a block: Trunkline.configure { |defaults| defaults.timeout = 5 }"
      end

      changes = Defaults.new
      yield changes
      limits = changes.process
      process_options = changes.process_options
      @lock.synchronize do
        options = changes.to_h
        @defaults = (@defaults || Options.defaults).merge(options)
        @logger = process_options[:logger] if process_options.key?(:logger)
        @timeouts_required = process_options[:require_timeouts] if process_options.key?(:require_timeouts)
        @client = nil unless options.empty? && process_options.empty?
        limits.each { |name, value| Engine.public_send(:"#{name}=", value) }
      end
      nil
    end

    # @return [#warn] the logger set by configure, or Kernel. It gets the warnings of the library: deprecated endpoints,
    #   probes that raised, and cache or breaker stores that failed
    def logger = @logger || Kernel

    # @return [Boolean] whether each client or each call must set its own timeout (see Defaults#require_timeouts)
    # @api private
    def timeouts_required? = @timeouts_required || false

    # Sets a deadline for every call inside the block: single calls, batches, and futures started there. The remaining
    # time becomes an upper limit for the total timeout of each call. When blocks are nested, the earliest deadline
    # applies.
    #
    #   Trunkline.deadline(2) { client.get("/a"); client.get("/b") }
    #   Thread.new(&Trunkline.deadline.wrap { client.get("/c") })
    #
    # @param seconds [Numeric, nil] seconds from now until the deadline; nil to get the Deadline module
    # @return [Object, Deadline] the value of the block; without seconds, Deadline, whose #left returns the seconds that
    #   remain and whose #wrap carries the deadline into another thread or fiber
    # @raise [DeadlineExceeded] from a call in the block that had not ended, or was not sent, when the deadline passed
    # @raise [InvalidRequest] when seconds is not a finite number, or only one of seconds and block is given
    def deadline(seconds = nil, &block)
      return Deadline.within(seconds, &block) if seconds
      raise InvalidRequest, "deadline: needs seconds, when it is given a block" if block

      Deadline
    end

    # Subscribes a block to the events of all calls: single calls, batches, futures, calls through facades, and stubbed
    # calls.
    #
    #   subscription = Trunkline.on(:call) { |event| puts "#{event.method} #{event.url} #{event.status}" }
    #   subscription.off
    #
    # @param kinds [Array<Symbol>] the values of Event#kind to subscribe to; none for all
    # @yield [event] runs in the thread that runs the call. An exception of the block does not affect the call; it is
    #   logged once
    # @yieldparam event [Event]
    # @return [Events::Subscription] its #off ends the subscription
    # @raise [InvalidRequest] without a block, or for an unknown kind
    def on(*kinds, &block) = Events.of_process.on(*kinds, &block)

    # Records the calls that are made while the block runs, by any thread, to a HAR 1.2 file, which browsers' network
    # panels open. The file has one entry per attempt, with credentials hidden (docs/logging.md), at most 64 KiB of each
    # body, and no streamed bodies.
    #
    #   Trunkline.record("calls.har") { client.get("/users") }
    #
    # @param path [String, Pathname] the file; it is replaced in one step when the block ends, also when the block
    #   raises
    # @return [Object] the value of the block
    # @raise [InvalidRequest] without a block, or when path cannot be written; raised before the block runs
    # @raise [SystemCallError] when writing the file fails
    def record(path = nil, &block)
      raise InvalidRequest, "record: needs a block, whose calls it writes" unless block

      Recording.of(path, &block)
    end

    # Sleeps. In a middleware of a call among many, only that call waits while the others go on; elsewhere this is
    # Kernel#sleep.
    # @param seconds [Numeric] zero or more
    # @return [nil]
    # @raise [InvalidRequest] when seconds is not a finite number of at least 0
    def sleep(seconds)
      value = Timeouts.plain(seconds)
      unless value.is_a?(Numeric) && value.real? && value >= 0 && value.to_f.finite?
        raise InvalidRequest.of("sleep", seconds, "a number of seconds")
      end

      flow = Scheduler::Flow.current
      flow ? flow.pause(value.to_f, nil) : Kernel.sleep(value)
      nil
    end

    # The counters and limits that all clients of the process share (docs/stats.md).
    #
    # @return [Hash{Symbol => Object}] connections_in_use and its limit max_connections; buffered_bytes (bytes of HTTP/2
    #   responses that no caller has read yet) and its limit max_buffered_bytes; limits: by origin, the concurrency
    #   limits that :auto has found; and the state of policies: breakers, budgets (retry:), hedges and caches by origin,
    #   rates by key
    def stats
      Engine.process_stats.merge(limits: Scheduler::OriginQueue::MEMORY.to_h, **Policy.stats)
    end

    # Sends a request as Client#request does, with one client for the whole process; so do the verbs.
    # @return [Response]
    def request(method, url, options = nil, more = nil, &block)
      client.request(method, url, options, more, &block)
    end

    # Like Client#batch, with one client for the whole process. batch, each and map also take the options of
    # Trunkline.new: Trunkline.map(urls, timeout: 5, concurrency: 20).
    # @return [Batch, Array<Response, Error>]
    def batch(options = nil, &block)
      client_with(options) { |client, batch_options| client.batch(batch_options, &block) }
    end

    # Like Client#each, with one client for the whole process.
    # @return [nil, Enumerator]
    def each(requests, options = nil, &block)
      client_with(options) { |client, batch_options| client.each(requests, batch_options, &block) }
    end

    # Like Client#map, with one client for the whole process.
    # @return [Array<Response, Error>]
    def map(requests, options = nil, &block)
      client_with(options) { |client, batch_options| client.map(requests, batch_options, &block) }
    end

    # Like Client#async, with one client for the whole process.
    # @return [Async]
    def async(options = nil) = client.async(options)

    private

    def defaults
      defaults = @defaults || Options.defaults
      @timeouts_required && defaults.timeout ? defaults.merge(timeout: nil) : defaults
    end

    # @yield [client, options] a client that has the client options among these, and the remaining options of the batch
    def client_with(options)
      return yield client, options unless options.is_a?(Hash)

      batch_options = options.slice(*Scheduler::BatchOptions::NAMES)
      unknown = options.keys - batch_options.keys - Options::NAMES
      raise Scheduler::BatchOptions.unknown(unknown.first) unless unknown.empty?

      client_options = options.except(*batch_options.keys)
      yield (client_options.empty? ? client : client.with(client_options)), batch_options
    end

    def client
      @client || @lock.synchronize do
        @pool_handle ||= PoolHandle.make(default: defaults.max_idle)
        @client ||= Client.new(nil, defaults, @pool_handle)
      end
    rescue StandardError
      RactorError.refuse # the IsolationError that Ruby raises for the instance variables above does not help a caller
      raise
    end
  end
end

# Loads the instruments whose libraries are loaded already. This cannot wait for the first client: Rails controllers and
# OpenTelemetry::SDK.configure need them before that.
Trunkline::Instrument.load_instruments
