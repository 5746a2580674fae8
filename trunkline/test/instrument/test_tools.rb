# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../facades/net_http/agents/comparison"

# Each file in tools/ is a test program of its own, with the gems of gemfiles/agents: tracing tools patch the whole
# process.
class TestTools < TrunklineTest
  Dir[File.join(__dir__, "tools/*.rb")].each do |program|
    name = File.basename(program, ".rb")
    next if name == "tool_test"

    levels = %w[sentry datadog appsignal].include?(name) ? %w[net_http faraday] : %w[net_http]
    levels.each do |level|
      define_method("test_#{name}_#{level}") do
        unless SeparateBundle.installed?("agents")
          skip "the gems of gemfiles/agents are not installed; bin/setup says why"
        end

        command = [RbConfig.ruby, "-I", Subprocess::LIB, program]
        out, err, status = Subprocess.run_command(Agents::Comparison.environment(common: true).merge("LEVEL" => level),
                                                  command)

        assert status.success?, out + err
        assert_match(/^\d+ runs, [1-9]\d* assertions, 0 failures, 0 errors, 0 skips$/, out)
      end
    end
  end
end
