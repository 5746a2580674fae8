# frozen_string_literal: true

require_relative "../histogram"

module Trunkline
  module Lab
    module Output
      # A report in the format of ApacheBench, with its labels in the same order, so that programs that parse one can
      # parse the other; times are in microseconds.
      class AbReport
        SERVED = "Percentage of the requests served within a certain time (us)"
        PERCENTAGES = [50, 66, 75, 80, 90, 95, 98, 99, 99.9, 100].freeze

        # @param sample [Hash] Tasks#many, with timings
        # @param path [String] path of the requests
        def initialize(target:, response:, sample:, concurrency:, rate:, path: target.path)
          @target = target
          @path = path
          @response = response
          @sample = sample
          @concurrency = concurrency
          @rate = rate
          @latency = Histogram.of(sample[:latency])
          @corrected = Histogram.of(sample[:corrected])
        end

        def to_s
          [server, totals, rates, times, percentages(@latency, SERVED),
           corrected].compact.join("\n\n")
        end

        private

        def server
          lines("Server Software" => @response["server"].to_s, "Server Hostname" => @target.uri.host,
                "Server Port" => @target.uri.port, "TLS Protocol" => tls, "HTTP Version" => @response.http_version,
                nil => nil, "Document Path" => @path, "Document Length" => "#{@sample[:length] || 0} bytes")
        end

        def tls
          connection = @response.connection
          connection.tls_version && "#{connection.tls_version},#{connection.cipher}"
        end

        def totals
          failed = @sample[:errors].each_value.sum
          other = @sample[:statuses].sum { |status, count| status.to_s.to_i.between?(200, 299) ? 0 : count }
          answered = complete
          lines("Concurrency Level" => @concurrency, "Time taken for tests" => format("%.6f seconds", wall),
                "Complete requests" => answered, "Failed requests" => failed + @sample[:other_lengths],
                "Non-2xx responses" => (other if other.positive?),
                "Keep-Alive requests" => answered - @sample[:opened],
                "Total transferred" => "#{transferred} bytes#{" (heads not counted)" if @sample[:head_bytes].zero?}",
                "HTML transferred" => "#{@sample[:bytes]} bytes")
        end

        def rates
          answered = [complete, 1].max
          per_request = wall * 1e6 / answered
          lines("Requests per second" => format("%.2f [#/sec] (mean)", complete / wall),
                "Time per request" => [format("%.1f [us] (mean)", per_request * @concurrency),
                                       format("%.1f [us] (mean, across all concurrent requests)", per_request)],
                "Transfer rate" => format("%.2f [Kbytes/sec] received", transferred / 1024.0 / wall),
                "CPU per request" => cpu(answered))
        end

        def cpu(answered)
          format("%<each>.1f [us] (client, %<share>.0f %% of a core)", each: @sample[:cpu] * 1e6 / answered,
                                                                       share: @sample[:cpu] / wall * 100)
        end

        def times
          phases = @sample[:phases].transform_values { |counts| Histogram.of(counts) }
          rows = { "Connect" => phases[:connect], "Processing" => phases[:processing], "Waiting" => phases[:waiting],
                   "Total" => @latency }
          ["Connection Times (us)", "                 min     mean[+/-sd]   median       max",
           *rows.map { |name, histogram| row(name, histogram) }].join("\n")
        end

        def row(name, histogram)
          format("%-12<name>s %7<min>d %8<mean>d %7<sd>.1f %8<median>d %9<max>d", name: "#{name}:", min: histogram.min,
                                                                                  mean: histogram.mean,
                                                                                  sd: histogram.deviation,
                                                                                  median: histogram.median,
                                                                                  max: histogram.max)
        end

        def percentages(histogram, title)
          [title, *PERCENTAGES.map do |share|
            longest = " (longest request)" if share == 100
            format(" %4<share>s%% %9<value>d%<longest>s", share: share, value: histogram.percentile(share),
                                                          longest: longest)
          end].join("\n")
        end

        # With a rate, the time that a call waited for its start is included (coordinated omission).
        def corrected
          unless @rate
            return "Closed loop: a slow response delays the calls after it, which the figures above do not show."
          end

          percentages(@corrected, "From when each request should have started, at #{@rate}/s (us)")
        end

        def lines(fields)
          fields.flat_map do |name, value|
            next [""] if name.nil?

            Array(value).map { |one| format("%-24<name>s%<value>s", name: "#{name}:", value: one) }
          end.join("\n")
        end

        def complete = @latency.size
        def transferred = @sample[:bytes] + (@sample[:head_bytes] * complete)
        def wall = @sample[:wall]
      end
    end
  end
end
