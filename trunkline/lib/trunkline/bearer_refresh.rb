# frozen_string_literal: true

require_relative "errors"
require_relative "lock"
require_relative "options"
require_relative "policy/signal"
require_relative "redacted"

module Trunkline
  # A bearer token (RFC 6750) that is fetched anew when a server refuses it: the value of auth:. Share one among all
  # clients that use the token.
  #
  #   tokens = Trunkline::BearerRefresh.new { |expired| login(expired) }
  #   client = Trunkline.new("https://api.test", timeout: 5, auth: tokens)
  #
  # Calls that are answered 401 at once share one fetch, and are then sent again. A call that is refused with a token
  # which was fetched in the place of a refused one, for it, has its 401.
  class BearerRefresh
    include Redacted

    # One fetch, in a thread of its own: the calls that wait for it neither hold up others nor take it down when they
    # are given up.
    #
    # @api private
    class Fetch
      include Redacted

      # @return [Policy::Signal] its end
      attr_reader :done
      # @return [Exception, nil] what the block raised; set at the end
      attr_reader :error

      # @yield in the thread
      def initialize(owner, &block)
        @done = Policy::Signal.new
        @thread = Thread.new do
          Thread.current.report_on_exception = false
          Thread.current.thread_variable_set(:trunkline_fetching, owner)
          run(block)
        end
      end

      # @return [Boolean] false in a forked child, where the thread is not
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

    # @param token [String, nil] the first; nil to have the first call fetch it
    # @yield [expired] in a thread of its own, never twice at a time; a call that it makes itself with this object is
    #   sent without a token
    # @yieldparam expired [String, nil] the token that was refused; nil: there is none yet
    # @yieldreturn [String, nil] the new one; nil: there is none, and requests go out without
    # @raise [InvalidRequest]
    def initialize(token = nil, &fetch)
      raise InvalidRequest, "BearerRefresh: needs a block, which fetches a token" unless fetch

      @token = Options.check(:bearer, token)
      @fetch = fetch
      @fetching = nil
      @fetched_at = nil # monotonic seconds, of one that took the place of a refused one
      @lock = Lock.new
    end

    # @param _request [Request]
    # @param call [Policy::Call]
    # @return [Hash, nil]
    # @raise [Exception] what the block raises
    # @api private
    def sign(_request, call)
      return if own_call?

      token = @token || fetched(nil, call)
      { "Authorization" => "Bearer #{token}" } if token
    end

    # @param response [Response] a 401
    # @param call [Policy::Call]
    # @return [Boolean]
    # @raise [Exception] what the block raises
    # @api private
    def retry?(response, call)
      return false if own_call?

      token, fetched_at = @lock.synchronize { [@token, @fetched_at] }
      refused = token && response.request.headers["Authorization"] == "Bearer #{token}"
      return !token.nil? unless refused # another call has fetched one meanwhile
      return false if fetched_at && fetched_at > call.began

      following = fetched(token, call)
      !following.nil? && following != token
    end

    private

    # @return [Boolean] whether it is the block that calls
    def own_call? = Thread.current.thread_variable_get(:trunkline_fetching).equal?(self)

    # @return [String, nil] the token after one fetch
    def fetched(expired, call)
      fetching = join(expired) or return @token
      call.wait(fetching.done) || raise(call.exceeded)
      raise fetching.error.dup if fetching.error

      @token
    end

    # @return [Fetch, nil] nil: another call has fetched one meanwhile
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
        @fetched_at = Engine.now if expired # the first one may be one that was kept, and be refused
      end
    end
  end
end
