# frozen_string_literal: true

require "minitest/autorun"
require "csv"
require "fileutils"
require "json"
require "stringio"
require "tmpdir"

# The cache is empty: gems are not downloaded, and the installed ones are searched for anew.
ENV["TRUNKLINE_LAB_CACHE"] = Dir.mktmpdir("trunkline-lab-cache-")
Minitest.after_run { FileUtils.rm_rf(ENV.fetch("TRUNKLINE_LAB_CACHE")) }

require "trunkline/lab"
require "trunkline/lab/histogram"
require "trunkline/lab/origins/scripted"
require "trunkline/lab/target"

module Trunkline
  module Lab
    # Helpers of the tests of the command line. Runs are tiny and nothing is asserted about speed: a noisy machine is
    # not a failure (exit status 3).
    module Running
      MEASURED = [DONE, NOISY].freeze

      # @return [Array(Integer, String, String)] exit status, standard output, standard error
      def lab(*argv)
        out = StringIO.new
        err = StringIO.new
        status = CLI.run(argv, out: out, err: err)
        [status, out.string, err.string]
      end

      # Runs a command and reads its JSON. Its page and its CSV must contain the same result.
      def measured(*argv)
        Dir.mktmpdir do |folder|
          files = Output::Files::KINDS.keys.to_h { |kind| [kind, File.join(folder, "result.#{kind}")] }
          status, out, err = lab(*argv, *files.flat_map { |kind, file| ["--#{kind}", file] })

          assert_includes MEASURED, status, err
          result = JSON.parse(File.read(files["json"]))

          assert_written(files, result)
          refute_includes out, "\e"
          yield result, out
        end
      end

      def assert_written(files, result)
        figures = result["figures"]

        assert_equal figures.map { |one| one["name"] }, CSV.read(files["csv"], headers: true)["figure"]
        assert_equal figures.sum { |one| one["samples"].size }, CSV.read(files["samples"]).size - 1
        assert_equal [result["command"]], File.read(files["html"]).scan(/<section id="([a-z\d]+)-1"/).flatten
        assert_match(/\A## /, File.read(files["markdown"]))
      end

      def refused(*argv, status: USAGE)
        got, out, err = lab(*argv)

        assert_equal status, got, err
        assert_equal 1, err.lines.size, err
        assert_empty out
        err
      end
    end
  end
end
