# frozen_string_literal: true

require_relative "../../../test_helper"
require_relative "results"

# The ten most used SDKs, with and without install!: the results must be the kept ones, which docs/switching.md reports.
# `rake sdks` runs all SDKs.
class TestSDKs < TrunklineTest
  KEPT = SDK::Results.kept

  SDK.all.select { |sdk| sdk.about.common }.each do |sdk|
    define_method("test_#{sdk.file}") do
      skip "its bundle is not installed; bin/setup says why" unless SeparateBundle.installed?("sdks")

      found = SDK::Results.of(sdk)
      kept = KEPT[sdk]

      assert_nil found["unavailable"]
      assert_equal(*[kept, found].map { |result| result["differences"].transform_values(&:empty?) },
                   found["differences"].values.flatten.join("\n"))
      assert_fewer_connections found["connections"], kept["connections"]
    end
  end

  def test_every_sdk_has_its_row
    assert_equal SDK.all.map { |sdk| sdk.about.title }.sort, KEPT.sdks.keys.sort
  end

  def test_the_table_is_made_from_the_results
    assert_equal KEPT.page, File.read(SDK::Results::PAGE)
  end

  # A comparison that cannot fail would report "equal" for everything.
  def test_the_comparison_sees_a_difference
    run = SDK::Comparison::Run.new(results: [[%w[get a]]], sent: ["GET / HTTP/1.1\r\n\r\n"])
    others = [{ results: [[%w[get b]]] }, { sent: [] }].map { |change| SDK::Comparison::Run.new(**run.to_h, **change) }

    assert_empty SDK::Comparison.differences(run, run.dup)
    assert_equal [1, 1], others.map { |other| SDK::Comparison.differences(run, other).size }
  end

  private

  def assert_fewer_connections(found, kept)
    assert_equal kept.keys, found.keys
    found.except("plain").each { |mode, count| assert_operator count, :<=, kept[mode], mode }
  end
end
