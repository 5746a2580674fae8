# frozen_string_literal: true

require "socket"
require_relative "../../redacted"
require_relative "failures"
require_relative "limits"
require_relative "name_queue"
require_relative "waker"

module Trunkline
  module Engine
    module Ruby
      # Resolves names to addresses (docs/names.md), in threads of its own, so that timeouts apply, and caches the
      # results. Only a look-up's own thread waits for the system's resolver.
      module Names
        FRESH = 60.0
        FAILED_FRESH = 1.0
        THREAD_IDLE = 10.0
        MAX_NAME = 255
        IPV4 = /\A(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!\z)|\z)){4}\z/
        # The system needs no name server for it, so it counts as a name that was resolved before.
        LOCAL = "localhost"
        # Errors, besides Ruby's, that are raised when Java has no file descriptor left for a look-up.
        OF_JAVA = RUBY_ENGINE == "jruby" ? [Java::JavaLang::RuntimeException, Java::JavaLang::LinkageError] : []
        private_constant :OF_JAVA, :FRESH, :FAILED_FRESH, :THREAD_IDLE, :MAX_NAME, :IPV4, :LOCAL

        # A name that is cached, queued or being looked up.
        class Name
          include Redacted

          # Whether it was resolved before; calls that wait for it, as keys.
          attr_reader :host, :known, :waits
          # An Array of Addrinfo, a Failure, or nil: it has no result yet; its place in the queue.
          attr_accessor :result, :resolved_at, :domain, :queued

          def initialize(host, known)
            @host = host
            @known = known
            @waits = {}.compare_by_identity
          end

          def failed? = @result.is_a?(Failure)

          # @return [Array<Wait>] calls to be woken
          def take_waits = @waits.keys.tap { @waits.clear }
        end

        # A call that waits for a name.
        class Wait
          include Redacted

          attr_reader :name

          def initialize(name, waker)
            @name = name
            @waker = waker
            name.waits[self] = true unless name.result
          end

          def wake = @waker.wake

          # @return [Array<Addrinfo>, nil] nil: call again when the waker was woken
          # @raise [Failure]
          def result
            found = @name.result
            raise found if found.is_a?(Failure)

            found
          end

          # Must be called when the call no longer waits. The last one removes a name from the queue.
          def close = Names.stop_waiting(self)
        end
        private_constant :Name, :Wait

        @lock = StepLock.new
        @work = ConditionVariable.new
        @cache = {} # names with a result by host; the least recently used first
        @pending = {} # the others
        @queue = NameQueue.new
        @threads = @idle = @starting = 0
        @next_check = NEVER # when an idle thread checks the queue again

        class << self
          # @param host [String]
          # @param max_age [Float] seconds; an older answer is not used
          # @param waker [Waker] woken when the name has been resolved
          # @return [Array<Addrinfo>, Wait] addresses without ports; or the call's wait for them
          # @raise [Failure]
          def resolve(host, max_age, waker)
            literal = literal(host)
            return [literal] if literal

            check_length(host)
            to_wake = nil
            wait = @lock.synchronize do
              name = @pending[host] || cached(host, max_age)
              name, to_wake = enqueue(host) unless name
              Wait.new(name, waker)
            end
            to_wake&.each(&:wake)
            wait.result || wait
          end

          # @param wait [Wait]
          # @return [void]
          def stop_waiting(wait)
            @lock.synchronize do
              name = wait.name
              name.waits.delete(wait)
              dequeue(name) if name.queued && name.waits.empty?
            end
          end

          # @param host [String] a host whose addresses did not respond
          def forget(host)
            @lock.synchronize { @cache.delete(host) }
          end

          # A forked child has none of the threads, so the parent's look-ups would never end.
          def after_fork
            @pending.each_value do |name|
              name.queued = false
              name.result = Failure.new(:FORKED, phase: :resolve)
            end
            @lock = StepLock.new
            @work = ConditionVariable.new
            @cache = {}
            @pending = {}
            @queue = NameQueue.new
            @threads = @idle = @starting = 0
            @next_check = NEVER
          end

          private

          def literal(host)
            return Addrinfo.new(Socket.sockaddr_in(0, host)) if IPV4.match?(host)
            return unless host.include?(":")

            Addrinfo.getaddrinfo(host, nil, nil, :STREAM, nil, Socket::AI_NUMERICHOST).first
          rescue SocketError
            nil
          end

          def check_length(host)
            return if host.bytesize.between?(1, MAX_NAME)

            detail = "a host name has 1 to #{MAX_NAME} bytes; this one has #{host.bytesize}"
            raise Failure.new(:RESOLVE, detail, phase: :resolve)
          end

          def cached(host, max_age)
            name = @cache[host] or return
            return unless Ruby.now - name.resolved_at < (name.failed? ? FAILED_FRESH : [FRESH, max_age].min)

            @cache[host] = @cache.delete(host) # the least recently used name is evicted first
          end

          # @return [Array(Name, Array<Wait>)] the new name; calls whose name has been dropped for it
          def enqueue(host)
            need_thread(1)
            stale = @cache.delete(host)
            name = Name.new(host, host == LOCAL || (stale && !stale.failed?) || false)
            @queue.add(@pending[host] = name)
            name.queued = true
            [name, (give_up(@queue.surplus(name)) if @queue.size > Limits::NAMES_QUEUED)]
          end

          def dequeue(name)
            @queue.remove(name)
            name.queued = false
            @pending.delete(name.host)
          end

          # Fails a queued name without a look-up. The failure is not cached, because the name may be valid.
          def give_up(name)
            dequeue(name)
            detail = "#{name.host}: more than #{Limits::NAMES_QUEUED} names wait to be looked up"
            name.result = Failure.new(:RESOLVE, detail, phase: :resolve)
            name.take_waits
          end

          # ---- the threads ----

          # Wakes an idle thread for the queue, or starts a thread unless one for each queued name is starting.
          # @param newcomers [Integer] names that are about to be queued
          def need_thread(newcomers = 0)
            return @work.signal if @idle.positive?
            return if @starting >= @queue.size + newcomers || @threads >= Limits::LOOKUPS

            start_thread
          rescue ThreadError => error
            return unless @threads.zero?

            raise Failure.new(:RESOLVE, "no thread could be started to look it up: #{error.message}", phase: :resolve)
          end

          def start_thread
            thread = Thread.new { Ruby.interruptible { serve } }
            @threads += 1
            @starting += 1
            thread.name = "trunkline names"
            thread.report_on_exception = false
          end

          def serve
            @lock.synchronize { @starting -= 1 }
            while (name = @lock.synchronize { next_name })
              result = look_up(name.host)
              @lock.synchronize { finish(name, result) }.each(&:wake)
            end
          end

          # Waits for the next name that may be looked up.
          # @return [Name, nil] nil: there was none for THREAD_IDLE seconds
          def next_name
            deadline = Ruby.now + THREAD_IDLE
            until (name = @queue.take(now = Ruby.now)).is_a?(Name)
              if now >= deadline
                return end_thread if @queue.empty?

                deadline = now + THREAD_IDLE
              end
              wait_idle(deadline, name)
            end
            name.queued = false
            need_thread if @queue.size.positive?
            name
          end

          def end_thread
            @threads -= 1
            nil
          end

          # Only one of the idle threads ends its wait when a look-up is due.
          def wait_idle(deadline, due)
            first = due < @next_check
            @next_check = due if first
            @idle += 1
            @lock.wait(@work, [(first ? [deadline, due].min : deadline) - Ruby.now, 0.001].max)
          ensure
            @idle -= 1
            @next_check = NEVER if first
          end

          # A failure for lack of descriptors or memory is not cached for other calls.
          # @return [Array<Wait>]
          def finish(name, result)
            @queue.finished(name)
            @pending.delete(name.host)
            name.resolved_at = Ruby.now
            name.result = result
            @cache[name.host] = name unless name.failed? && result.errno != 0
            @cache.shift if @cache.size > Limits::NAMES
            name.take_waits
          end

          def look_up(host)
            found = Addrinfo.getaddrinfo(host, nil, nil, :STREAM).select(&:ip?).uniq(&:to_sockaddr)
            return found.first(Limits::ADDRESSES) unless found.empty?

            Failure.new(:RESOLVE, "it has no address", phase: :resolve)
          rescue SocketError => error
            words = error.message.sub(/\Agetaddrinfo(?:\(\d\))?: /, "")
            Failure.new(:RESOLVE, "#{host}: #{words}", phase: :resolve)
          rescue SystemCallError => error
            Failure.new(:RESOLVE, "#{host}: #{Failure.strerror(error.errno)}", phase: :resolve, errno: error.errno)
          rescue IOError, *OF_JAVA => error
            Failure.new(:RESOLVE, "#{host}: #{error.message}", phase: :resolve)
          end
        end
      end
    end
  end
end
