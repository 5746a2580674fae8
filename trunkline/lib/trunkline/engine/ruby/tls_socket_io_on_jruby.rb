# frozen_string_literal: true

require "jruby"
require_relative "channel_on_jruby"
require_relative "wait_on_jruby"
require_relative "tls_socket_io"

module Trunkline
  module Engine
    module Ruby
      # A TLSSocketIO on JRuby. After the handshake it uses Java's SSLEngine without JRuby's SSLSocket, which loses
      # bytes that the socket does not accept at once (before 0.16), leaves them unsent (since 0.16), sends bytes twice
      # when one thread reads while another writes, and does not report whether the server has closed properly.
      class TLSSocketIOOnJRuby < TLSSocketIO
        ByteBuffer = Java::JavaNio::ByteBuffer
        NOTHING = ByteBuffer.allocate(0)
        # Maximum of bytes in a record (RFC 8446 5.1).
        RECORD = 16 * 1024
        # Fields of JRuby's SSLSocket that are used after the handshake.
        FIELDS = %w[engine netReadData appReadData].freeze
        private_constant :ByteBuffer, :NOTHING, :RECORD, :FIELDS

        def handshake
          result = super
          take_over if result == true
          result
        end

        # verify_depth limits the intermediate certificates, so the trusted authority may have a depth one greater.
        def verify(good, store)
          depth = @tls_context.verify_depth
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

        # As with OpenSSL, the caller must pass the same bytes again after a Symbol.
        def write(bytes)
          @lock.synchronize do
            next :wait_writable unless @taken.positive? || flush

            @taken = wrap(ByteBuffer.wrap(bytes.byteslice(0, RECORD).to_java_bytes)) if @taken.zero?
            @partial_record = !flush
            @partial_record ? :wait_writable : @taken.tap { @taken = 0 }
          end
        rescue Java::JavaxNetSsl::SSLException => error
          raise tls_failure(error, :write)
        end

        def pending? = @plain.has_remaining || @coded.position.positive?

        # During a renegotiation Java would send data, which OpenSSL's servers refuse.
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

        # JRuby returns the result of the context's last handshake, which may be another socket's. #verify was called
        # for this one, and Java resumes no session of a handshake that was refused.
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

        # @return [:came, :wait_readable, nil] :came: @plain has bytes; nil: the end
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

        # @return [Boolean] false: the server has sent close_notify
        def unwrap
          @plain.clear
          @coded.flip
          result = @engine.unwrap(@coded, @plain)
          case result.status.name
          when "CLOSED" then return false
          when "BUFFER_UNDERFLOW" then @starved = true
          when "BUFFER_OVERFLOW" then wanted = @engine.session.application_buffer_size
          end
          perform_actions(result.handshake_status.name)
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

        # Performs the actions that TLS requires after the handshake, such as new keys.
        def perform_actions(status)
          loop do
            case status
            when "NEED_TASK" then as_current { run_tasks }
            when "NEED_WRAP" then return unless @lock.synchronize { flush && wrap(NOTHING.duplicate) && flush }
            else return
            end
            status = @engine.handshake_status.name
          end
        end

        def run_tasks
          while (task = @engine.delegated_task)
            task.run
          end
        end

        # Writes a record into @out, which must be empty. @return [Integer] bytes of the source that the record contains
        def wrap(source)
          @out.clear
          result = @engine.wrap(source, @out)
          raise Failure.new(:RESET, "the connection is closed", phase: :write) if result.status.name == "CLOSED" &&
                                                                                  source.has_remaining

          result.bytes_consumed
        ensure
          @out.flip
        end

        # @return [Boolean] whether the socket has accepted all of @out
        def flush
          until (left = @out.remaining).zero?
            @channel.write(@out)
            return false if @out.remaining == left
          end
          true
        end

        # Java raises an error for an end without close_notify.
        def ended
          @engine.close_inbound
          @truncated = false
          nil
        rescue Java::JavaxNetSsl::SSLException
          ended_early
        end

        def tls_failure(error, phase) = Failure.new(:TLS_IO, TLSMessages.of(error), phase: phase)

        def send_close_notify
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
