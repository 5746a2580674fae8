# frozen_string_literal: true

require_relative "test_helper"

# The builder gem's tests, run with Trunkline's classes in place of Builder's.
class TestBuilderSuite < Minitest::Test
  include Child

  SUITE = File.join(Gem.loaded_specs.fetch("builder").full_gem_path, "test")
  FILES = { "test_markupbuilder" => 76, "test_eventbuilder" => 7, "test_method_caching" => 3, "test_namecollision" => 3,
            "test_xchar" => 7 }.freeze

  FILES.each do |file, tests|
    define_method("test_passes_#{file.delete_prefix("test_")}_of_builder") do
      output = ruby("-W0", "-I#{SUITE}", "-rtrunkline/xml/drop_in", "-r#{__dir__}/support/garbage_collection",
                    "#{SUITE}/#{file}.rb")
      assert_match(/^#{tests} runs, \d+ assertions, 0 failures, 0 errors, 0 skips/, output)
    end
  end
end
