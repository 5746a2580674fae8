# frozen_string_literal: true

require_relative "failures"

module Trunkline
  module Engine
    module Ruby
      module Tunnel
        # Methods for both kinds of proxies: reading, writing, and failures.
        module ProxyIO
          def initialize(origin, io)
            @origin = origin
            @proxy = origin.proxy
            @io = io
            @out = "".b
            @in = "".b
          end

          # @param limit [String] the limit in words: "within 2 s"
          # @return [Failure]
          def timed_out(limit)
            Failure.new(:CONNECT_TIMEOUT, "proxy #{@proxy.label} did not open the way to #{@origin.label} #{limit}",
                        phase: :connect)
          end

          private

          def failure(words, errno = 0)
            Failure.new(:PROXY, "proxy #{@proxy.label[0, 60]}: #{words}"[0, 320], phase: :connect, errno: errno)
          end

          # @return [Symbol, nil] the event to wait for
          def flush
            until @out.empty?
              count = @io.write(@out)
              return count if count.is_a?(Symbol)

              @out = @out.byteslice(count..)
            end
          rescue Failure => error
            raise proxy_failure(error)
          end

          # @return [Symbol, nil] the event to wait for
          def fill(most)
            came = @io.read(most, scratch = "".b)
            return came if came.is_a?(Symbol)
            return ended if came.nil?

            @in << scratch
            nil
          rescue Failure => error
            raise proxy_failure(error)
          end

          def ended = raise(failure("it closed the connection"))

          # Converts a failure to one of the proxy, not of the server.
          def proxy_failure(cause)
            return cause if cause.code.start_with?("PROXY")

            words = FAILURES.fetch(cause.code).last
            failure(cause.detail.empty? ? words : "#{words}: #{cause.detail}", cause.errno)
          end
        end
      end
    end
  end
end
