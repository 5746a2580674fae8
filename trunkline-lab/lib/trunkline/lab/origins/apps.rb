# frozen_string_literal: true

require_relative "nginx"

module Trunkline
  module Lab
    module Origins
      # The Rack applications that Puma serves for the lab.
      module Apps
        PLAIN = { "content-type" => "text/plain" }.freeze
        JSON_FIELDS = ORDERS_FIELDS.to_h { |name, value| [name.downcase, value.delete("\\")] }
          .merge("content-type" => "application/json").freeze

        def self.named(name, **options)
          { "static" => Static, "workers" => Workers, "echo" => Echo }.fetch(name).new(**options)
        end

        # The header fields of a JSON response to this request.
        def self.json_fields(env, body)
          JSON_FIELDS.merge("content-length" => body.bytesize.to_s, "x-request-id" => env["HTTP_X_REQUEST_ID"].to_s)
        end

        # Serves the same paths as Nginx, for machines without nginx.
        class Static
          BODIES = { MEDIUM => MEDIUM_BODY, ORDERS => ORDERS_BODY, SLOW_ORDERS => ORDERS_BODY }.freeze

          def call(env)
            env["rack.input"]&.read
            path = env["PATH_INFO"]
            body = BODIES.fetch(path, SHORT_BODY)
            sleep SLOW_SECONDS if [SLOW, SLOW_ORDERS].include?(path)
            fields = body == ORDERS_BODY ? Apps.json_fields(env, body) : PLAIN
            [200, fields.merge("content-length" => body.bytesize.to_s), [body]]
          end
        end

        # Parses the JSON of the request and responds with the same JSON; a request without content gets ORDERS_BODY.
        class Echo
          def call(env)
            sent = env["rack.input"]&.read.to_s
            body = sent.empty? ? ORDERS_BODY : JSON.generate(JSON.parse(sent))
            [200, Apps.json_fields(env, body), [body]]
          end
        end

        # A service of known capacity: each worker is busy with a request for some seconds, and a limited number of
        # requests wait in the queue. A request that finds the queue full gets a 429.
        class Workers
          def initialize(workers: 8, seconds: 0.02, queue: 32)
            @seconds = seconds
            @capacity = Integer(workers) + Integer(queue)
            @free = SizedQueue.new(Integer(workers)).tap { |free| workers.times { free << true } }
            @lock = Mutex.new
            @inside = 0
          end

          def call(env)
            entered = @lock.synchronize { @inside < @capacity && (@inside += 1) }
            return [429, PLAIN.merge("retry-after" => "1"), ["too many at once\n"]] unless entered

            begin
              work(env)
            ensure
              @lock.synchronize { @inside -= 1 }
            end
          end

          private

          def work(env)
            ticket = @free.pop
            sleep @seconds
            return [200, Apps.json_fields(env, ORDERS_BODY), [ORDERS_BODY]] if env["REQUEST_METHOD"] == "POST"

            [200, PLAIN.merge("content-length" => SHORT_BODY.bytesize.to_s), [SHORT_BODY]]
          ensure
            @free << ticket if ticket
          end
        end
      end
    end
  end
end
