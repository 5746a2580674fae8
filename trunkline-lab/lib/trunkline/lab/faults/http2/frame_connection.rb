# frozen_string_literal: true

require "monitor"
require "openssl"
require "protocol/hpack"
require_relative "frame_stream"

module Trunkline
  module Lab
    module Faults
      module HTTP2
        # The server's end of one HTTP/2 connection. It reads frames, stores them for a test, answers SETTINGS and PING
        # and grants windows unless told otherwise, and runs the script of each request in a separate thread.
        class FrameConnection
          PREFACE = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
          DEFAULT_WINDOW = 65_535
          # Errors that a client may cause in a script at any time.
          EXPECTED = [SystemCallError, IOError, OpenSSL::SSL::SSLError].freeze

          # How the connection grants the window for request bodies:
          #   :arrived  as many bytes as have arrived
          #   :read     as many bytes as the script has read
          #   :never    only what the script grants
          GRANTS = %i[arrived read never].freeze

          attr_reader :number, :frames, :streams, :goaway, :line

          # @param line [Origins::Scripted::Connection] or an object with the same methods
          # @param settings [Hash] of the server, such as { max_concurrent_streams: 2 }
          # @param grants [Symbol] of GRANTS
          # @param quiet [Array<Symbol>] frames that are not answered: :settings, :ping
          # @param hello [#call, nil] called with the connection instead of sending the server's SETTINGS
          # @param on_stream [#call] called with each stream when it begins, before its script
          # @param fallback [#call, nil] called with the connection and its first bytes when they are not the preface
          def initialize(line, settings: {}, grants: :arrived, quiet: [], hello: nil, on_stream: nil, fallback: nil,
                         &script)
            @line = line
            @number = line.number
            @settings = settings
            @grants = grants
            @quiet = quiet
            @hello = hello
            @on_stream = on_stream
            @fallback = fallback
            @script = script
            @frames = []
            @streams = {}
            @threads = []
            @failures = []
            @at_end = []
            @window = DEFAULT_WINDOW
            @stream_window = DEFAULT_WINDOW
            @lock = Monitor.new
            @changed = @lock.new_cond
            @encoding = ::Protocol::HPACK::Context.new
            @decoding = ::Protocol::HPACK::Context.new
          end

          # Runs until the client closes the connection.
          # @raise the exception of a script
          def serve
            first = line.read_exactly(PREFACE.bytesize)
            return call_fallback(first) unless first == PREFACE

            @hello ? @hello.call(self) : send_settings
            loop { receive(read_frame) }
          ensure
            finish
            raise @failures.first if @failures.any?
          end

          def send_settings(values = @settings) = frame(:settings, 0, 0, Frame.settings(values))

          # ---- sending, for the script

          def frame(type, flags = 0, stream = 0, payload = "") = raw(Frame.new(type, flags, stream, payload).to_bytes)

          def raw(bytes)
            @lock.synchronize { line.write(bytes) }
            self
          end

          # Sends a header block as HEADERS and CONTINUATION frames.
          def header_block(stream, fields, end_stream, split = nil)
            @lock.synchronize do
              block = encode(fields)
              pieces = split ? block.scan(/.{1,#{split}}/mn) : [block]
              pieces.each_with_index do |piece, index|
                flags = index == pieces.size - 1 ? Frame::END_HEADERS : 0
                flags |= Frame::END_STREAM if end_stream && index.zero?
                frame(index.zero? ? :headers : :continuation, flags, stream, piece)
              end
            end
          end

          def encode(fields) = @lock.synchronize { ::Protocol::HPACK::Compressor.new("".b, @encoding).encode(fields) }

          def send_goaway(last, code = :no_error, debug = "")
            frame(:goaway, 0, 0, [last, Frame.error_number(code)].pack("NN") + debug)
          end

          def send_ping(payload = "liveness") = frame(:ping, 0, 0, payload)
          def grant(bytes) = frame(:window_update, 0, 0, [bytes].pack("N"))

          def close = without_interrupts { line.close }
          # Half-closes the connection. What the client still sends is read: otherwise the system would send a reset,
          # which discards data that the client has not read yet.
          def finish_sending = line.half_close
          def reset = without_interrupts { line.reset }

          # ---- inspection, for the test

          def received(type) = @lock.synchronize { frames.select { |frame| frame.type == type } }
          def over? = @over || false
          def last_stream = streams.keys.max || 0

          # @return the value of the block once it is true; false after the timeout
          def wait_until(seconds = nil)
            limit = seconds && now + seconds
            @lock.synchronize do
              until (result = yield)
                left = limit && limit - now
                return false if left && left <= 0

                @changed.wait([left, 0.1].compact.min)
              end
              result
            end
          end

          def wait_for(type, count: 1, seconds: 5) = wait_until(seconds) { received(type)[count - 1] }

          # No received frame is handled meanwhile.
          def exclusively(&block) = @lock.synchronize(&block)

          # The block is called when the connection has ended, at once if it has ended already.
          def at_end(&block) = @lock.synchronize { @over ? yield : @at_end << block }

          # ---- windows

          # Waits until at least one byte may be sent, and takes at most `wanted` bytes from both windows.
          def take_window(stream, wanted, overhead: 0)
            @lock.synchronize do
              loop do
                raise FrameStream::Gone, "stream #{stream.id} is gone" if over? || stream.reset_by_client

                count = [wanted, @window - overhead, stream.send_window - overhead].min
                if count.positive?
                  @window -= count + overhead
                  stream.send_window -= count + overhead
                  return count
                end
                @changed.wait(0.1)
              end
            end
          end

          # Called when the script has read a piece of a body.
          def consumed(stream, bytes)
            return unless @grants == :read && !over?

            grant(bytes)
            stream.grant(bytes) unless stream.request_ended?
          rescue FrameStream::Gone
            nil # the client has reset the stream, perhaps just now; what it sent before can still be read
          end

          private

          def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

          # IO#close first waits for the threads that read from it. A thread that #finish kills during this wait must
          # still close the file descriptor.
          def without_interrupts(&block) = Thread.handle_interrupt(Object => :never, &block)

          def call_fallback(first)
            @fallback or raise "no preface of HTTP/2 but #{first.inspect}"
            @fallback.call(self, first)
          end

          def read_frame
            length, frame = Frame.parse_head(line.read_exactly(Frame::HEAD_BYTES))
            frame.payload = length.zero? ? "".b : line.read_exactly(length)
            frame
          end

          # The frame is handled before it is added to #frames, so a test that finds it there also sees its effects.
          def receive(frame)
            @lock.synchronize do
              handle(frame)
              frames << frame
              @changed.broadcast
            end
          end

          def handle(frame)
            case frame.type
            when :headers, :continuation then receive_header_block(frame)
            when :data then receive_data(frame)
            when :rst_stream then streams[frame.stream]&.receive_reset(frame.error)
            when :settings then receive_settings(frame)
            when :window_update then receive_window_update(frame)
            when :goaway then @goaway = frame
            when :ping then receive_ping(frame)
            end
          end

          def receive_ping(frame)
            frame(:ping, Frame::ACK, 0, frame.payload) unless frame.flag?(Frame::ACK) || @quiet.include?(:ping)
          end

          def receive_header_block(frame)
            @head = frame if frame.type == :headers
            @block = (frame.type == :headers ? "".b : @block) + frame.content
            return unless frame.flag?(Frame::END_HEADERS)

            fields = ::Protocol::HPACK::Decompressor.new(@block, @decoding).decode
            last = @head.flag?(Frame::END_STREAM)
            return streams[frame.stream].receive_trailers(fields) if streams.key?(frame.stream)

            begin_stream(frame.stream, fields, last)
          end

          def begin_stream(id, fields, last)
            stream = streams[id] = FrameStream.new(self, id, fields, @stream_window, last)
            @on_stream&.call(stream)
            @threads << Thread.new { run_script(stream) }.tap { |thread| thread.report_on_exception = false }
          end

          def run_script(stream)
            @script&.call(stream)
          rescue *EXPECTED
            nil
          rescue Exception => error # rubocop:disable Lint/RescueException -- an assertion of a test is no StandardError
            @failures << error
            close
          end

          def receive_data(frame)
            stream = streams[frame.stream] or return
            size = frame.payload.bytesize
            grant(size) if @grants == :arrived && size.positive?
            stream.receive_data(frame.content, frame.flag?(Frame::END_STREAM))
            return unless @grants == :arrived && size.positive? && !stream.request_ended? && !stream.reset_by_client

            stream.grant(size)
          end

          def receive_settings(frame)
            return if frame.flag?(Frame::ACK)

            values = frame.payload.unpack("nN" * (frame.payload.bytesize / 6)).each_slice(2).to_h
            if (window = values[Frame::SETTINGS[:initial_window_size]])
              streams.each_value { |stream| stream.send_window += window - @stream_window }
              @stream_window = window
            end
            frame(:settings, Frame::ACK) unless @quiet.include?(:settings)
          end

          def receive_window_update(frame)
            increment = frame.payload.unpack1("N")
            return @window += increment if frame.stream.zero?

            stream = streams[frame.stream]
            stream.send_window += increment if stream
          end

          def finish
            @lock.synchronize do
              @over = true
              @changed.broadcast
            end
            exclusively { streams.each_value(&:abandon) }
            @at_end.each(&:call)
            @threads.each { |thread| thread.join(0.5) || thread.kill.join }
          end
        end
      end
    end
  end
end
