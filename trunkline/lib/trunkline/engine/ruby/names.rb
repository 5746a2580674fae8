# frozen_string_literal: true

require "socket"
require_relative "../../redacted"
require_relative "failures"
require_relative "limits"
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
        # Errors, besides Ruby's, that are raised when Java has no file descriptor left for a look-up.
        OF_JAVA = RUBY_ENGINE == "jruby" ? [Java::JavaLang::RuntimeException, Java::JavaLang::LinkageError] : []
        private_constant :OF_JAVA, :FRESH, :FAILED_FRESH, :THREAD_IDLE, :MAX_NAME, :IPV4

        # A cached name. result: an Array of Addrinfo, a Failure, or nil while the name is being resolved.
        Entry = Struct.new(:host, :result, :resolved_at, :wakers, :known) { include Redacted }
        private_constant :Entry

        @lock = StepLock.new
        @work = ConditionVariable.new
        @entries = {}
        @queue = []
        @threads = 0
        @idle = 0
        @pid = Ruby.pid

        class << self
          # @param host [String]
          # @param max_age [Float] seconds; an older answer is not used
          # @param waker [Waker] woken when the name has been resolved
          # @return [Array<Addrinfo>, nil] without ports; nil: call again when woken
          # @raise [Failure]
          def resolve(host, max_age, waker)
            literal = literal(host)
            return [literal] if literal

            check_length(host)
            result = @lock.synchronize { find_or_enqueue(host, max_age, waker) }
            raise result if result.is_a?(Failure)

            result
          end

          # @param host [String] a host whose addresses did not respond
          def forget(host)
            @lock.synchronize { @entries.delete(host) if @entries[host]&.result }
          end

          # A forked child has none of the threads, so the parent's look-ups would never end.
          def after_fork
            @lock = StepLock.new
            @work = ConditionVariable.new
            @entries = {}
            @queue = []
            @threads = @idle = 0
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

          def find_or_enqueue(host, max_age, waker)
            entry = @entries[host]
            return enqueue(host, false, waker) if entry.nil?
            return cached_result(entry, host, max_age, waker) if entry.result

            entry.wakers << waker unless entry.wakers.include?(waker)
            nil
          end

          def cached_result(entry, host, max_age, waker)
            failed = entry.result.is_a?(Failure)
            fresh = failed ? FAILED_FRESH : [FRESH, max_age].min
            return enqueue(host, entry.known, waker) if Ruby.now - entry.resolved_at >= fresh

            @entries[host] = @entries.delete(host) # the least recently used entry is evicted first
            entry.result
          end

          def enqueue(host, known, waker)
            @entries.delete(host)
            if @queue.size >= Limits::NAMES_QUEUED
              return Failure.new(:RESOLVE, "#{host}: more than #{Limits::NAMES_QUEUED} names wait to be looked up",
                                 phase: :resolve)
            end

            @queue << (@entries[host] = Entry.new(host, nil, nil, [waker], known))
            need_thread
            nil
          end

          def need_thread
            return @work.signal if @idle >= @queue.size
            return if @threads >= Limits::LOOKUPS

            @threads += 1
            thread = Thread.new { Ruby.interruptible { serve } }
            thread.name = "trunkline names"
            thread.report_on_exception = false
          end

          def serve
            while (entry = @lock.synchronize { next_entry })
              result = look_up(entry.host)
              @lock.synchronize { set_result(entry, result) }.each(&:wake)
            end
          end

          # @return [Entry, nil] nil: the queue was empty for THREAD_IDLE seconds
          def next_entry
            until_then = Ruby.now + THREAD_IDLE
            while @queue.empty?
              left = until_then - Ruby.now
              if left <= 0
                @threads -= 1
                return
              end
              @idle += 1
              @lock.wait(@work, left)
              @idle -= 1
            end
            @queue.shift
          end

          def set_result(entry, result)
            entry.result = result
            entry.resolved_at = Ruby.now
            entry.known ||= !result.is_a?(Failure)
            @entries.delete(@entries.first.first) while @entries.size > Limits::NAMES && @entries.first.last.result
            entry.wakers.tap { entry.wakers = [] }
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
