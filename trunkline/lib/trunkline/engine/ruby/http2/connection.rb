# frozen_string_literal: true

require_relative "call"
require_relative "leading"
require_relative "session"

module Trunkline
  module Engine
    module Ruby
      module HTTP2
        # One connection, shared by all calls that have a stream on it. No thread reads it in the background: see
        # Leading. Each step of a call is done with the lock, and never waits. Who has the lock asks for no pool's.
        class Connection
          include Redacted
          include Leading

          READ_BYTES = 64 * 1024
          # By a reader that has no call on the connection.
          READS_AT_ONCE = 16
          # After how long a silent server is sent a PING, and the time that it has to acknowledge it.
          SILENCE = 30.0
          ANSWER_WITHIN = 5.0
          private_constant :READ_BYTES, :READS_AT_ONCE, :SILENCE, :ANSWER_WITHIN

          # @return [Session] to be used within a step
          attr_reader :session
          # @return [Failure, nil] why the connection has failed
          attr_reader :why
          # @return [IO]
          attr_reader :socket
          # State that may be read without the lock: how many streams the server allows; whether it takes no more calls;
          # whether the server has sent anything yet.
          attr_reader :most_streams

          # @param stream [Ruby::Stream] that is open
          # @param born [Float]
          def initialize(stream, born)
            @lock = Lock.new
            @session = Session.new
            @stream = stream
            @socket = stream.socket
            @heard_at = born
            @heard = @retired = @closing = @dead = @write_broken = @unread = @news = false
            @most_streams = @session.most_streams
            @wants_read = :read
            @sending = [] # calls whose requests are not out yet
            prepare_leading
          end

          def heard? = @heard
          def closing? = @closing
          # @return [Boolean] whether something is still to be written
          def output? = !@dead && @session.output?

          def takes_connect? = @session.extended_connect == :accepted

          # @yield with the lock
          # @return [Object] what the block returns
          def synchronize
            @lock.synchronize do
              @stepped_by = Thread.current
              yield
            ensure
              @stepped_by = nil
            end
          end

          # ---- without a call on it ----

          # The check before a new call: reads what has arrived if no call reads it. A server that has been silent for
          # long is sent a PING ahead of the call, whose acknowledgement is not waited for.
          # @return [Boolean] whether it is alive, and takes more calls
          def usable?
            return false if @stepped_by.equal?(Thread.current) # a signal handler is run within a step

            synchronize do
              next false if @closing

              now = Ruby.now
              take_in(now) if nobody_reads?
              ping_if_silent(now)
              refresh
              !@closing
            end
          end

          # Called by the reaper: reads when no call does, and asks a server that has been silent for long whether it is
          # there; one that does not acknowledge it gets no new calls.
          # @return [Boolean] whether what may be read without the lock has changed
          def tend(now)
            synchronize do
              take_in(now) if nobody_reads?
              @session.calm
              check_silence(now)
              summon
              take_news
            end
          end

          # Takes no more calls; those under way go on.
          def retire
            synchronize do
              @retired = true
              refresh
            end
          end

          # Says GOAWAY, as far as that goes without waiting.
          def say_goodbye
            synchronize do
              next if @dead

              @session.say_goodbye
              write(Ruby.now)
            end
          end

          # ---- within a step ----

          # Reads once. @return [Boolean] whether something came
          def read_once(now)
            return false if @dead

            came = @stream.read(READ_BYTES, @buffer ||= String.new)
            @wants_read = came == :wait_writable ? :write : :read
            @unread = came.is_a?(String)
            if @unread
              take(came, now)
              return @session.fault.nil?
            end

            die(Failure.new(:CLOSED)) if came.nil?
            false
          rescue Failure => error
            die(error)
            false
          end

          # Writes what the session gives, as far as that goes without waiting.
          def write(now)
            @wants_write = nil
            any = false
            until @dead || @write_broken || (bytes = @session.output).empty?
              count = @stream.write(bytes)
              break @wants_write = count == :wait_readable ? :read : :write if count.is_a?(Symbol)

              @session.wrote(count)
              any = true
            end
            news_of_writing if any
          rescue Failure => error
            writing_broke(error, now)
          end

          # @return [:none, :partial, :all] how much of the request the server can have received, or will: what is
          #   composed is written later, also of a stream that is reset by then
          def sent(stream)
            return :none if stream.nil?
            return stream.request_ends ? :all : :partial unless @dead || @write_broken
            return :all if @session.written?(stream)

            @session.unwritten?(stream) && !@stream.started? ? :none : :partial
          end

          # @return [Boolean] whether what may be read without the lock has changed; once
          def take_news = @news.tap { @news = false }

          private

          def take(bytes, now)
            @heard_at = now
            @heard_any = true
            @pinged_at = nil
            @session.input(bytes)
            return refuse(now) if @session.fault

            tell_touched
            refresh
          end

          # The server has broken the protocol: says GOAWAY, as far as that goes.
          def refuse(now)
            tell_touched
            @closing = true
            write(now)
            die(Failure.new(@session.fault, @session.detail)) unless @dead
          end

          # Answers, or a GOAWAY with the reason, may have arrived all the same.
          def writing_broke(error, now)
            @write_broken = true
            @wants_write = nil
            @session.drop_output
            nil while read_once(now)
            die(error) unless @dead
          end

          # The shutdown makes the socket readable for a leader that waits.
          def die(why)
            @dead = true
            @why = why
            @unread = false
            @wants_write = nil
            @session.end_with(why.code)
            @session.drop_output
            tell_touched
            refresh
            @socket.shutdown(Socket::SHUT_RDWR)
          rescue SystemCallError, IOError
            nil
          end

          def news_of_writing
            note_sent
            tell_touched
            refresh
          end

          def note_sent
            return if @sending.empty?

            now = Ruby.now
            @sending.reject! do |call|
              call.sent_at = now if call.stream && @session.written?(call.stream)
            end
          end

          def tell_touched
            while (call = @session.next_touched)
              call.touch
            end
          end

          def refresh
            closing = @dead || @retired || @session.closing?
            most = @session.most_streams
            return if closing == @closing && most == @most_streams && (@heard || !@heard_any)

            @news = true
            @most_streams = most
            @heard = @heard_any ? true : false
            @closing = closing
          end

          def take_in(now)
            READS_AT_ONCE.times { break unless read_once(now) }
            write(now)
          end

          # Some servers count PINGs and close the connection of a client that sends many.
          def ping_if_silent(now)
            return if @dead || @pinged_at || now - @heard_at < SILENCE

            @session.ping
            @pinged_at = now
            write(now)
          end

          # An idle connection is sent no PING; #usable? does that before its next use.
          def check_silence(now)
            if @pinged_at && now - @pinged_at >= ANSWER_WITHIN then ping_failed(now)
            elsif @session.open_streams.positive? then ping_if_silent(now)
            end
          end

          # A server may be busy and answer all the same: calls under way go on to their own timeouts, new ones get
          # another connection.
          def ping_failed(now)
            take_in(now) # the acknowledgement may have arrived
            return if @dead || @pinged_at.nil?
            return die(Failure.new(:CLOSED, "the server no longer answers")) if @session.open_streams.zero?

            @session.say_goodbye
            write(now)
            refresh
          end
        end
      end
    end
  end
end
