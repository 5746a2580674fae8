# frozen_string_literal: true

require "open3"
require "rbconfig"

# h2spec's client mode (h2specd of github.com/summerwind/h2spec): its servers send the frames of its cases, and check
# the frames that the client sends back.
#
#   ruby h2spec.rb H2SPECD
class H2spec
  CLIENT = [RbConfig.ruby, "-W0", "-I", File.expand_path("../../lib", __dir__),
            File.join(__dir__, "h2spec_client.rb")].freeze
  PORTS = 21_000 # each case gets a port from here on, below the system's ephemeral ports
  SUMMARY = /^(\d+) tests, (\d+) passed, \d+ skipped, (\d+) failed$/

  # @param program [String] the path of h2specd
  # @return [Boolean] whether all cases passed
  def self.passed?(program)
    out, = Open3.capture2e(program, "--from-port", PORTS.to_s, "--timeout", "1", "--exec", CLIENT.join(" "))
    out = out.b.gsub(/\e\[[\d;]*m/n, "")
    summary = out[SUMMARY]
    abort "h2specd did not end: #{out[-2000..] || out}" unless summary

    puts out[/^Failures:.*?(?=^Finished)/m], "#{summary} (h2spec's client mode)"
    summary[SUMMARY, 3] == "0"
  end
end

exit(H2spec.passed?(ARGV.fetch(0))) if $PROGRAM_NAME == __FILE__
