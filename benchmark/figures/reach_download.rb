# frozen_string_literal: true

require_relative "../support/figure"
require_relative "../support/http2"

module Bench
  module Figures
    # 200 MB over one HTTP/2 stream; flow-control windows that are too small, or updated too late, would show here.
    class ReachDownload
      BAR = 0.8

      def title = "200 MB over HTTP/2, one transfer"

      def call(suite)
        raise Tools::Failed, CurlTool.missing if CurlTool.missing

        HTTP2.verify(suite)
        curl = CurlTool.new(ca_file: suite.origin.ca_file, http2: true)
          .command("#{suite.origin.http2}#{Origin::LARGE}")
        ratios = HTTP2.with_ours(suite) do |ours|
          ours.ask(:body_digest, path: Origin::SMALL)
          suite.repeat { take(ours, curl) }
        end
        suite.add(Figure.of(ratios, name: "#{title}: speed against the curl tool's", unit: "x", bar: BAR, reach: 1.0))
      end

      private

      def take(ours, curl)
        tasks = { ours: -> { download(ours) }, curl: -> { ours.ask(:wait_for_program, command: curl)[:output].to_f } }
        seconds = tasks.to_a.shuffle.to_h { |name, task| [name, task.call] }
        seconds[:curl] / seconds[:ours]
      end

      def download(ours)
        taken = ours.ask(:download, path: Origin::LARGE)
        return taken[:wall] if taken[:bytes] == Origin::LARGE_BYTES

        raise PeerProcess::Failed, "#{taken[:bytes]} bytes of #{Origin::LARGE_BYTES}"
      end
    end
  end
end
