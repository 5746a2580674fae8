# frozen_string_literal: true

require_relative "errors"
require_relative "lock"
require_relative "options"
require_relative "policy/signal"
require_relative "redacted"

module Trunkline
  # A bearer token (RFC 6750) that is fetched anew when a server rejects it with 401: the value of auth:. Clients that
  # use the same token should share one object.
  #
  #   tokens = Trunkline::BearerRefresh.new { |expired| login(expired) }
  #   client = Trunkline.new("https://api.test", timeout: 5, auth: tokens)
  #
  # Concurrent calls that get a 401 share one fetch, and are then sent again. A call keeps its 401 when the rejected
  # token was itself fetched as a replacement after that call had begun.
  class BearerRefresh
    include Redacted

    # One fetch, in its own thread: calls that wait for it do not block other calls, and cancelling such a call does not
    # cancel the fetch.
    #
    # @api private
    class Fetch
      include Redacted

      # @return [Policy::Signal] set when the fetch has ended
      attr_reader :done
      # @return [Exception, nil] the exception of the block, set when the fetch has ended
      attr_reader :error

      # @yield fetches the token, in the new thread
      def initialize(owner, &block)
        @done = Policy::Signal.new
        @thread = Thread.new do
          Thread.current.report_on_exception = false
          Thread.current.thread_variable_set(:trunkline_fetching, owner)
          run(block)
        end
      end

      # @return [Boolean] false when the fetch has ended, and in a forked child, which does not have the thread
      def running? = @thread.alive? && !@done.set?

      private

      def run(block)
        @error = RuntimeError.new("the thread that fetched the token was killed")
        block.call
        @error = nil
      rescue Exception => error # rubocop:disable Lint/RescueException -- those who wait raise it
        @error = error
      ensure
        @done.set
      end
    end

    # @param token [String, nil] the first token; nil: the first call fetches it
    # @yield [expired] fetches a token in a separate thread, never in two threads at once. Requests that the block
    #   itself sends with this object as auth: carry no token
    # @yieldparam expired [String, nil] the rejected token; nil when there is no token yet
    # @yieldreturn [String, nil] the new token; nil for none: requests are then sent without a token
    # @raise [InvalidRequest] without a block, or for an invalid token
    def initialize(token = nil, &fetch)
      raise InvalidRequest, "BearerRefresh: needs a block, which fetches a token" unless fetch

      @token = Options.check(:bearer, token)
      @fetch = fetch
      @fetching = nil
      @fetched_at = nil # monotonic seconds when a token replaced a rejected one
      @lock = Lock.new
    end

    # @param _request [Request]
    # @param call [Policy::Call]
    # @return [Hash, nil] the Authorization field; nil without a token
    # @raise [Exception] any exception of the block
    # @api private
    def sign(_request, call)
      return if own_call?

      token = @token || fetched(nil, call)
      { "Authorization" => "Bearer #{token}" } if token
    end

    # @param response [Response] with status 401
    # @param call [Policy::Call]
    # @return [Boolean] whether to send the request again
    # @raise [Exception] any exception of the block
    # @api private
    def retry?(response, call)
      return false if own_call?

      token, fetched_at = @lock.synchronize { [@token, @fetched_at] }
      refused = token && response.request.headers["Authorization"] == "Bearer #{token}"
      return !token.nil? unless refused # another call has fetched a new token meanwhile
      return false if fetched_at && fetched_at > call.began

      following = fetched(token, call)
      !following.nil? && following != token
    end

    private

    # @return [Boolean] whether this call was made by the block itself
    def own_call? = Thread.current.thread_variable_get(:trunkline_fetching).equal?(self)

    # @return [String, nil] the token after the fetch
    def fetched(expired, call)
      fetching = join(expired) or return @token
      call.wait(fetching.done) || raise(call.exceeded)
      raise fetching.error.dup if fetching.error

      @token
    end

    # @return [Fetch, nil] nil when another call has fetched a new token meanwhile
    def join(expired)
      @lock.synchronize do
        next if @token != expired

        @fetching = Fetch.new(self) { fetch(expired) } unless @fetching&.running?
        @fetching
      end
    end

    def fetch(expired)
      token = @fetch.call(expired)
      raise InvalidRequest.of(:bearer, token, "a String, or nil") unless token.nil? || token.is_a?(String)

      token = Options.check(:bearer, token)
      @lock.synchronize do
        @token = token
        @fetched_at = Engine.now if expired # a first token may be an old one that the caller had stored
      end
    end
  end
end
