# frozen_string_literal: true

require "jruby"
require_relative "channel_on_jruby"
require_relative "wait_on_jruby"
require_relative "tls_stream"

module Trunkline
  module Engine
    module Ruby
      # As TLSStream. After the handshake Java's SSLEngine is used without JRuby's SSLSocket, which loses what the
      # socket does not take at once (before 0.16), leaves it unsent (since), sends bytes twice when one thread reads
      # while another writes, and does not tell whether the server has closed properly.
      class TLSStreamOnJRuby < TLSStream
        ByteBuffer = Java::JavaNio::ByteBuffer
        NOTHING = ByteBuffer.allocate(0)
        # The most that a record carries (RFC 8446 5.1).
        RECORD = 16 * 1024
        # What of JRuby's SSLSocket is gone on with.
        FIELDS = %w[engine netReadData appReadData].freeze
        private_constant :ByteBuffer, :NOTHING, :RECORD, :FIELDS

        def shake
          result = super
          take_over if result == true
          result
        end

        # The authority that is trusted stands behind as many others as verify_depth allows.
        def verify(good, store)
          depth = @settings.verify_depth
          return super unless good && depth && store.error_depth > depth + 1

          store.error = OpenSSL::X509::V_ERR_CERT_CHAIN_TOO_LONG
          super(false, store)
        end

        def read(most, buffer)
          came = receive
          return came unless came == :came

          @renegotiations = 0
          count = [most, @plain.remaining].min
          bytes = Java::byte[count].new
          @plain.get(bytes)
          buffer.replace(String.from_java_bytes(bytes))
        rescue Java::JavaxNetSsl::SSLException => error
          raise tls_failure(error, :read)
        end

        # As OpenSSL it is to be given the same bytes again after a Symbol.
        def write(bytes)
          @lock.synchronize do
            next :wait_writable unless @taken.positive? || flush

            @taken = wrap(ByteBuffer.wrap(bytes.byteslice(0, RECORD).to_java_bytes)) if @taken.zero?
            @started = !flush
            @started ? :wait_writable : @taken.tap { @taken = 0 }
          end
        rescue Java::JavaxNetSsl::SSLException => error
          raise tls_failure(error, :write)
        end

        def pending? = @plain.has_remaining || @coded.position.positive?

        # In the midst of a renegotiation Java would send data, which OpenSSL's servers refuse.
        def quiet?
          receive == :wait_readable && @engine.handshake_status.name == "NOT_HANDSHAKING"
        rescue Failure, Java::JavaxNetSsl::SSLException
          false
        end

        def close(_notify)
          super
          WaitOnJRuby.closed(socket)
        end

        private

        # JRuby has that of the context, whose last handshake may have been another one. #verify was told of this one,
        # and Java resumes no session of one that was refused.
        def verify_result = OpenSSL::X509::V_OK

        def take_over
          @channel = ChannelOnJRuby.new(socket)
          @engine, @coded, @plain = FIELDS.map { |name| field(name) }
          @out = ByteBuffer.allocate(@engine.session.packet_buffer_size).limit(0)
          @lock = Mutex.new
          @taken = 0
          @starved = false
        end

        # A version without these fields is refused, since its SSLSocket may lose bytes as well.
        def field(name)
          field = JRuby.ref(@ssl).java_class.declared_field(name)
          field.accessible = true
          field.value(JRuby.ref(@ssl))
        rescue NameError, Java::JavaLang::Exception => error
          words = "jruby-openssl #{JOpenSSL::VERSION} is not one that can be used (0.15 and 0.16 can; #{error.message})"
          raise Failure.new(:TLS_OPTIONS, words, phase: :tls)
        end

        # @return [:came, :wait_readable, nil] :came: something is in @plain; nil: the end
        def receive
          until @plain.has_remaining
            if @coded.position.zero? || @starved
              count = @channel.read(@coded)
              return :wait_readable if count.zero?
              return ended if count.negative?

              @starved = false
            end
            return unless unwrap
          end
          :came
        end

        # @return [Boolean] false: the server has said that it sends no more
        def unwrap
          @plain.clear
          @coded.flip
          result = @engine.unwrap(@coded, @plain)
          case result.status.name
          when "CLOSED" then return false
          when "BUFFER_UNDERFLOW" then @starved = true
          when "BUFFER_OVERFLOW" then wanted = @engine.session.application_buffer_size
          end
          answer(result.handshake_status.name)
          true
        ensure
          @coded.compact
          @plain.flip
          @plain = ByteBuffer.allocate([wanted, @plain.capacity * 2].max).limit(0) if wanted
          enlarge_coded if @starved && !@coded.has_remaining
        end

        def enlarge_coded
          larger = ByteBuffer.allocate([@engine.session.packet_buffer_size, @coded.capacity * 2].max)
          @coded.flip
          @coded = larger.put(@coded)
        end

        # What TLS itself wants after the handshake, such as new keys.
        def answer(wanted)
          loop do
            case wanted
            when "NEED_TASK" then shaking { run_tasks }
            when "NEED_WRAP" then return unless @lock.synchronize { flush && wrap(NOTHING.duplicate) && flush }
            else return
            end
            wanted = @engine.handshake_status.name
          end
        end

        def run_tasks
          while (task = @engine.delegated_task)
            task.run
          end
        end

        # Makes a record, into @out which is empty. @return [Integer] bytes of the source that it has
        def wrap(source)
          @out.clear
          result = @engine.wrap(source, @out)
          raise Failure.new(:RESET, "the connection is closed", phase: :write) if result.status.name == "CLOSED" &&
                                                                                  source.has_remaining

          result.bytes_consumed
        ensure
          @out.flip
        end

        # @return [Boolean] whether the socket has taken all of it
        def flush
          until (left = @out.remaining).zero?
            @channel.write(@out)
            return false if @out.remaining == left
          end
          true
        end

        # Java complains of an end without close_notify.
        def ended
          @engine.close_inbound
          @truncated = false
          nil
        rescue Java::JavaxNetSsl::SSLException
          ended_early
        end

        def tls_failure(error, phase) = Failure.new(:TLS_IO, TLSWords.of(error), phase: phase)

        def say_goodbye
          return super if @engine.nil?

          @lock.synchronize do
            @engine.close_outbound
            flush && wrap(NOTHING.duplicate) && flush
          end
        rescue Failure, Java::JavaIo::IOException
          nil
        end
      end
    end
  end
end
