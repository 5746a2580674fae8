# frozen_string_literal: true

require "open3"
require "tmpdir"
require_relative "../support/figure"

module Bench
  module Figures
    # client.download of 200 MB into a file, compared with the curl tool: the CPU of the call in a warm process, against
    # that of curl's whole process.
    class StreamDownload
      BAR = 1.1

      PROGRAM = <<~RUBY
        require "trunkline"
        base, path, small, file, ca_file = ARGV
        client = Trunkline.new(base, timeout: 60, ca_file: ca_file)
        client.get(small)
        cpu = -> { Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) }
        before = cpu.call
        bytes = client.download(path, to: file, resume: false).bytes
        puts cpu.call - before, bytes
      RUBY

      def title = "200 MB into a file, one transfer"

      def call(suite)
        raise Tools::Failed, CurlTool.missing if CurlTool.missing

        { "plain" => suite.origin.plain, "TLS" => suite.origin.tls }.each do |name, base|
          ratios = Dir.mktmpdir("trunkline-bench-") { |folder| suite.repeat { take(suite, base, folder) } }
          suite.add(Figure.of(ratios, name: "#{title}, #{name}: CPU against the curl tool's", unit: "x", bar: BAR,
                                      reach: 1.0, better: "lower"))
        end
      end

      private

      def take(suite, base, folder)
        tasks = { ours: -> { ours(suite, base, "#{folder}/ours") }, curl: -> { curl(suite, base, "#{folder}/curl") } }
        cpu = tasks.to_a.shuffle.to_h { |name, task| [name, task.call] }
        cpu[:ours] / cpu[:curl]
      end

      def ours(suite, base, file)
        command = [RbConfig.ruby, "-I", File.expand_path("../../trunkline/lib", __dir__), "-e", PROGRAM]
        output, status = Open3.capture2(*command, base, Origin::LARGE, Origin::SMALL, file, suite.origin.ca_file)
        cpu, bytes = output.split
        return Float(cpu) if status.success? && Integer(bytes) == Origin::LARGE_BYTES

        raise Tools::Failed, "the download failed: #{output}"
      end

      def curl(suite, base, file)
        before = children_cpu
        system("curl", "--silent", "--show-error", "--cacert", suite.origin.ca_file, "--http1.1", "--output", file,
               "#{base}#{Origin::LARGE}", exception: true)
        children_cpu - before
      end

      def children_cpu = Process.times.then { |times| times.cutime + times.cstime }
    end
  end
end
