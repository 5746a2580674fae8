# frozen_string_literal: true

require_relative "failures"
require_relative "stream"
require_relative "waker"
require_relative "../../redacted"
require_relative "ending_on_jruby" if RUBY_ENGINE == "jruby"

module Trunkline
  module Engine
    module Ruby
      # An open connection: one call at a time has it, or many share it (#http2).
      class Connection
        include Redacted

        @last_id = 0
        @lock = Lock.new

        class << self
          def next_id = @lock.synchronize { @last_id += 1 }

          # JRuby closes no socket that is collected.
          # @param socket [IO] which does not refer to its connection
          def closer(socket)
            lambda do |_id|
              socket.close unless EndingOnJRuby.finalizing?
            rescue SystemCallError, IOError
              nil
            end
          end
        end

        attr_reader :stream, :id, :owner, :born, :address, :pid
        # When it was given back, until when it may be idle; whether it is to be closed when it comes back; the pool's
        # bucket that it belongs to.
        attr_accessor :idle_until, :unwanted, :bucket
        # @return [HTTP2::Connection, nil]
        attr_reader :http2
        # How many calls have it, if it is shared; whether the pool gives it to no more of them.
        attr_accessor :calls, :retired

        # @param stream [Stream]
        # @param address [String] of its peer, for people to read
        # @param owner [Integer] the client family
        def initialize(stream, address, owner, now)
          @stream = stream
          @address = address
          @owner = owner
          @born = now
          @id = Connection.next_id
          @lifespan = 1 - ((@id % 16) / 128.0) # of its age, so that not all are opened anew at once
          @pid = Ruby.pid
          @idle_until = 0.0
          @unwanted = @retired = false
          @calls = 0
          ObjectSpace.define_finalizer(self, Connection.closer(stream.socket)) if RUBY_ENGINE == "jruby"
        end

        # Begins HTTP/2 on it.
        def share
          @http2 = HTTP2::Connection.new(@stream, @born)
        end

        # For a shared one; with its lock.
        def reading_thread(pool) = @reading_thread ||= HTTP2::ReadingThread.new(pool, self)

        # @return [Boolean] whether nothing lies there, and it has not ended; a shared one: whether it takes more calls
        def alive?
          @http2 ? @http2.usable? : @stream.quiet?
        rescue Failure
          false
        end

        # @return [Float] when it is too old for further calls
        def due(max_age) = @born + (max_age * @lifespan)

        # Ends it for its peer, and the waits for it in other threads.
        def shutdown
          @stream.socket.shutdown(Socket::SHUT_RDWR)
        rescue SystemCallError, IOError
          nil
        end

        # Closes its descriptor, and no more, unless others share it: for finalizers.
        def drop
          @stream.socket.close unless @http2
        end

        # @param notify [Boolean] whether TLS sends close_notify
        def close(notify)
          @http2&.say_goodbye if notify && @pid == Ruby.pid
          @stream.close(notify && @pid == Ruby.pid)
        end
      end
    end
  end
end
