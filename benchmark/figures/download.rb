# frozen_string_literal: true

module Bench
  module Figures
    # 200 MB over TLS: the time, compared with the curl tool's; and how late another thread, which sleeps one
    # millisecond at a time, wakes up during the download. The control is the same thread in the same process while the
    # curl tool downloads.
    class Download
      LATE_BAR = 10
      LATE_REACH = 3
      ENOUGH = 3 # runs in which the control was in time

      def title = "200 MB over TLS, one transfer"

      def call(suite)
        raise Tools::Failed, CurlTool.missing if CurlTool.missing

        trust = suite.origin.ca_file
        samples = suite.with_ours(base: suite.origin.tls, ca_file: trust, core: nil) do |ours|
          ours.ask(:body_digest, path: Origin::SMALL)
          curl = CurlTool.new(ca_file: trust).command("#{suite.origin.tls}#{Origin::LARGE}")
          suite.repeat { take(ours, curl) }
        end
        add_time(suite, samples)
        add_lateness(suite, samples)
      end

      private

      def take(ours, curl)
        tasks = {
          streamed: -> { ours.ask(:download, path: Origin::LARGE) },
          whole: -> { ours.ask(:download, path: Origin::LARGE, streamed: false) },
          control: -> { ours.ask(:wait_for_program, command: curl) }
        }
        sample = tasks.to_a.shuffle.to_h { |name, task| [name, task.call] }
        sample.values_at(:streamed, :whole).each { |taken| check(taken[:bytes]) }
        sample
      end

      def check(bytes)
        raise PeerProcess::Failed, "#{bytes} bytes of #{Origin::LARGE_BYTES}" unless bytes == Origin::LARGE_BYTES
      end

      def add_time(suite, samples)
        ratios = samples.map { |sample| sample[:streamed][:wall] / sample[:control][:output].to_f }
        suite.add(Figure.of(ratios, name: "200 MB TLS download, one transfer: time against the curl tool's", unit: "x",
                                    bar: 1.25, reach: 1.0, better: "lower"))
      end

      # Runs in which even the control was late are left out: the machine was too busy.
      def add_lateness(suite, samples)
        quiet = samples.select { |sample| sample[:control][:late_ms] < LATE_BAR }
        if quiet.size < [ENOUGH, samples.size].min
          raise PeerProcess::Failed, "the machine itself delays a tick by more than #{LATE_BAR} ms: it is too busy"
        end

        noisy = samples.size - quiet.size
        left_out = "#{noisy} of #{samples.size} runs left out, in which the control was late too" if noisy.positive?
        add_latest(suite, quiet, :streamed,
                   "latest 1 ms tick of another thread during a 200 MB download, one transfer",
                   bar: LATE_BAR, reach: LATE_REACH, note: left_out)
        add_latest(suite, quiet, :whole, "latest 1 ms tick, with the body in one String, one transfer")
        add_latest(suite, quiet, :control,
                   "latest 1 ms tick in the control, while the curl tool downloads, one transfer")
      end

      def add_latest(suite, samples, task, name, **rest)
        late = samples.map { |sample| sample[task][:late_ms] }
        suite.add(Figure.new(name: name, value: late.max, unit: "ms", better: "lower", spread: Statistics.spread(late),
                             samples: late.size, **rest))
      end
    end
  end
end
