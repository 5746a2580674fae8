# frozen_string_literal: true

require_relative "trunkline/version"
require_relative "trunkline/engine"
require_relative "trunkline/client"
require_relative "trunkline/defaults"
require_relative "trunkline/events"
require_relative "trunkline/features"
require_relative "trunkline/lock"
require_relative "trunkline/verbs"

# HTTP over connections that stay open, each call with a deadline that holds, nothing sent twice unless asked.
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
  # What stands in for Net::HTTP changes a process's Net::HTTP: it is there for those alone who name it.
  autoload :NetHTTP, "#{__dir__}/trunkline/net_http"
  autoload :PersistentHttpClient, "#{__dir__}/trunkline/persistent_http_client"

  @lock = Lock.new

  class << self
    include Verbs

    # Makes a client.
    #
    # @param base_url [String, URI, nil] what its paths are below; without it, every call gives a whole URL. Credentials
    #   in it (https://user:password@api.test) become basic:
    # @param options [Hash] as keywords: those of docs/options.md (Options::TABLE). timeout: is required, here or by
    #   Trunkline.configure. All but max_idle: may be given to Client#with and to a single call as well
    # @return [Client]
    # @raise [MissingTimeout]
    # @raise [InvalidRequest]
    # @raise [RactorError] in any but the main Ractor
    def new(base_url = nil, options = {})
      RactorError.refuse
      return new(nil, base_url) if base_url.is_a?(Hash)

      Arguments.options(options)
      base = URL.parse(base_url) if base_url
      options = { basic: base.userinfo, **options } if base&.userinfo && !options.key?(:bearer)
      merged = defaults.merge(options)
      raise MissingTimeout unless merged.timeout

      Client.new(base&.without_userinfo, merged, Family.make(options[:max_idle], default: defaults.max_idle))
    end

    # Sets defaults for every client made from now on, and for Trunkline's own verbs; and the limits of the process.
    #
    # @yield [defaults] a Defaults: one writer for each option of Trunkline.new, and for max_connections and
    #   max_buffered_bytes, which hold for all clients together (see Options::OF_PROCESS); logger and require_timeouts
    # @return [nil]
    # @raise [InvalidRequest] then nothing has changed
    def configure(*given)
      RactorError.refuse
      unless given.empty? && block_given?
        raise InvalidRequest, "configure: takes a block: Trunkline.configure { |defaults| defaults.timeout = 5 }"
      end

      changes = Defaults.new
      yield changes
      limits = changes.process
      settings = changes.settings
      @lock.synchronize do
        options = changes.to_h
        @defaults = (@defaults || Options.defaults).merge(options)
        @logger = settings[:logger] if settings.key?(:logger)
        @timeouts_required = settings[:require_timeouts] if settings.key?(:require_timeouts)
        @client = nil unless options.empty? && settings.empty?
        limits.each { |name, value| Engine.public_send(:"#{name}=", value) }
      end
      nil
    end

    # @return [#warn] what is told of deprecated endpoints, and of policies that cannot do their work: what was given by
    #   configure, or Kernel
    def logger = @logger || Kernel

    # @return [Boolean] whether each client or call must be given a timeout (see Defaults#require_timeouts)
    # @api private
    def timeouts_required? = @timeouts_required || false

    # Bounds everything that is called inside of the block: single calls, batches and futures begun there. The total of
    # each call becomes what is left; nested, the nearest end counts.
    #
    #   Trunkline.deadline(2) { client.get("/a"); client.get("/b") }
    #   Thread.new(&Trunkline.deadline.wrap { client.get("/c") })
    #
    # @param seconds [Numeric, nil]
    # @return [Object, Deadline] what the block returns; without seconds: what tells #left and can #wrap a block
    # @raise [DeadlineExceeded] from a call in the block, which did not end in time, or was not sent
    # @raise [InvalidRequest]
    def deadline(seconds = nil, &block)
      return Deadline.within(seconds, &block) if seconds
      raise InvalidRequest, "deadline: needs seconds, when it is given a block" if block

      Deadline
    end

    # Tells a block of what happens to calls: single ones, batches, futures, through facades, and stubs.
    #
    #   subscription = Trunkline.on(:call) { |event| puts "#{event.method} #{event.url} #{event.status}" }
    #   subscription.off
    #
    # @param kinds [Array<Symbol>] of Event#kind; none for all
    # @yield [event] in the thread that runs the call; what it raises harms no call, and is told once through the logger
    # @yieldparam event [Event]
    # @return [Events::Subscription]
    # @raise [InvalidRequest]
    def on(*kinds, &block) = Events.of_process.on(*kinds, &block)

    # Writes what is called in a block, in any thread, into a file of HAR 1.2, which browsers' tools open: an entry for
    # each attempt, with credentials hidden (docs/logging.md). Bodies have at most 64 KiB; streamed ones are not kept.
    #
    #   Trunkline.record("calls.har") { client.get("/users") }
    #
    # @param path [String, Pathname] replaced as a whole when the block is left, also by an error
    # @return [Object] what the block returns
    # @raise [InvalidRequest] when no file can be written there, before the block runs
    # @raise [SystemCallError]
    def record(path = nil, &block)
      raise InvalidRequest, "record: needs a block, whose calls it writes" unless block

      Recording.of(path, &block)
    end

    # Waits, in a middleware: among many calls the others go on meanwhile. Elsewhere it is Kernel#sleep.
    # @param seconds [Numeric]
    # @return [nil]
    # @raise [InvalidRequest]
    def sleep(seconds)
      value = Timeouts.plain(seconds)
      unless value.is_a?(Numeric) && value.real? && value >= 0 && value.to_f.finite?
        raise InvalidRequest.of("sleep", seconds, "a number of seconds")
      end

      flow = Scheduler::Flow.current
      flow ? flow.pause(value.to_f, nil) : Kernel.sleep(value)
      nil
    end

    # What all clients of the process use together (docs/stats.md).
    #
    # @return [Hash{Symbol => Object}] connections_in_use, and its limit max_connections; buffered_bytes, that servers
    #   may send over HTTP/2 before anybody takes them, and its limit max_buffered_bytes; limits, that :auto has found,
    #   by origin; and of policies, by origin: breakers, budgets (retry:), hedges, rates, caches
    def stats
      Engine.process_stats.merge(limits: Scheduler::OriginQueue::MEMORY.to_h, **Policy.stats)
    end

    # As Client#request, with one client for the whole process; so are the verbs.
    # @return [Response]
    def request(method, url, options = nil, more = nil, &block)
      client.request(method, url, options, more, &block)
    end

    # As Client#batch, with one client for the whole process. Here, in each and in map the options are those of
    # Trunkline.new, too: Trunkline.map(urls, timeout: 5, concurrency: 20).
    # @return [Batch, Array<Response, Error>]
    def batch(options = nil, &block) = client_with(options) { |client, own| client.batch(own, &block) }

    # As Client#each, with one client for the whole process.
    # @return [nil, Enumerator]
    def each(requests, options = nil, &block)
      client_with(options) { |client, own| client.each(requests, own, &block) }
    end

    # As Client#map, with one client for the whole process.
    # @return [Array<Response, Error>]
    def map(requests, options = nil, &block)
      client_with(options) { |client, own| client.map(requests, own, &block) }
    end

    # As Client#async, with one client for the whole process.
    # @return [Async]
    def async(options = nil) = client.async(options)

    private

    def defaults
      defaults = @defaults || Options.defaults
      @timeouts_required && defaults.timeout ? defaults.merge(timeout: nil) : defaults
    end

    # @yield [client, options] a client with the options that are its, and the others
    def client_with(options)
      return yield client, options unless options.is_a?(Hash)

      own = options.slice(*Scheduler::BatchOptions::NAMES)
      unknown = options.keys - own.keys - Options::NAMES
      raise Scheduler::BatchOptions.unknown(unknown.first) unless unknown.empty?

      yield (own.size == options.size ? client : client.with(options.except(*own.keys))), own
    end

    def client
      @client || @lock.synchronize do
        @family ||= Family.make(default: defaults.max_idle)
        @client ||= Client.new(nil, defaults, @family)
      end
    rescue StandardError
      RactorError.refuse # what Ruby said of the variables above is of no use to a caller
      raise
    end
  end
end

# Before the first client is made: Rails asks controllers what they tell of an action, OpenTelemetry what it may use.
Trunkline::Instrument.meet_libraries
