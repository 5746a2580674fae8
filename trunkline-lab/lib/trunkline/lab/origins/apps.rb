# frozen_string_literal: true

require_relative "nginx"

module Trunkline
  module Lab
    module Origins
      # The Rack applications that Puma serves for the lab.
      module Apps
        PLAIN = { "content-type" => "text/plain" }.freeze

        def self.named(name, **options)
          { "static" => Static, "workers" => Workers }.fetch(name).new(**options)
        end

        # What nginx serves, for machines without it.
        class Static
          def call(env)
            env["rack.input"]&.read
            body = env["PATH_INFO"] == MEDIUM ? MEDIUM_BODY : SHORT_BODY
            sleep SLOW_SECONDS if env["PATH_INFO"] == SLOW
            [200, PLAIN.merge("content-length" => body.bytesize.to_s), [body]]
          end
        end

        # A service with a known knee: so many workers, each busy for so long with a request, and a queue of so many
        # before it. Whoever finds the queue full is told 429.
        class Workers
          def initialize(workers: 8, seconds: 0.02, queue: 32)
            @seconds = seconds
            @room = Integer(workers) + Integer(queue)
            @free = SizedQueue.new(Integer(workers)).tap { |free| workers.times { free << true } }
            @lock = Mutex.new
            @inside = 0
          end

          def call(_env)
            entered = @lock.synchronize { @inside < @room && (@inside += 1) }
            return [429, PLAIN.merge("retry-after" => "1"), ["too many at once\n"]] unless entered

            begin
              work
            ensure
              @lock.synchronize { @inside -= 1 }
            end
          end

          private

          def work
            ticket = @free.pop
            sleep @seconds
            [200, PLAIN.merge("content-length" => SHORT_BODY.bytesize.to_s), [SHORT_BODY]]
          ensure
            @free << ticket if ticket
          end
        end
      end
    end
  end
end
