# frozen_string_literal: true

require_relative "../../test_helper"
require_relative "compared/differences"

# docs/typhoeus.md says everything in which the facade differs from the real Typhoeus.
class TestTyphoeusDifferences < TrunklineTest
  # docs/switching.md tells of it: libcurl 8.23 sends a password that has no user.
  NEWER = %w[password].freeze

  def test_the_page_says_what_differs
    skip "Typhoeus is not installed (bin/setup): nothing to compare with" unless GemsApart.installed?("typhoeus")
    differences = Differences.new
    assert_operator differences.same, :>, 150
    page = File.read(Differences::PAGE)
    return assert_equal(page, differences.page) if page.include?("libcurl #{differences.libcurl})")

    # Another libcurl knows other options: what the page does not name must not differ.
    listed = page.scan(/^\| ([^|]+?) \||`([\w:#.?!=]+)`/).flatten.compact
    assert_empty (differences.refused + differences.different.keys + differences.missing) - listed - NEWER
  end
end
