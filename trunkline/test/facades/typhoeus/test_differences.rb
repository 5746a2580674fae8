# frozen_string_literal: true

require_relative "../../test_helper"
require_relative "compared/differences"

# docs/typhoeus.md must list every difference between the facade and the real Typhoeus.
class TestTyphoeusDifferences < TrunklineTest
  # libcurl 8.23 sends a password without a user, as docs/switching.md says.
  NEWER = %w[password].freeze

  def test_the_page_lists_all_differences
    skip "Typhoeus is not installed (bin/setup): nothing to compare with" unless SeparateBundle.installed?("typhoeus")
    differences = Differences.new
    assert_operator differences.same, :>, 150
    page = File.read(Differences::PAGE)
    return assert_equal(page, differences.page) if page.include?("libcurl #{differences.libcurl})")

    # Another libcurl supports other options: only differences that the page lists are permitted.
    listed = page.scan(/^\| ([^|]+?) \||`([\w:#.?!=]+)`/).flatten.compact
    assert_empty (differences.refused + differences.different.keys + differences.missing) - listed - NEWER
  end
end
