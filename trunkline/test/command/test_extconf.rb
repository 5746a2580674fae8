# frozen_string_literal: true

require_relative "../test_helper"
require "tmpdir"

# ext/trunkline/extconf.rb where the extension cannot be built: `gem install` must succeed.
class TestExtconf < TrunklineTest
  EXTCONF = File.expand_path("../../ext/trunkline/extconf.rb", __dir__)
  # Linux's RbConfig, changed to that of Windows.
  WINDOWS = 'RbConfig::CONFIG["host_os"] = "mingw32"'
  # Defines the constant by which a RubyGems that needs no Makefile is recognised.
  NEW_RUBYGEMS = 'require "rubygems/ext"; Gem::Ext::Builder.const_set(:NoMakefileError, Class.new(StandardError))'
  OLD_RUBYGEMS = 'require "rubygems/ext"; Gem::Ext::Builder.then { |b| b.const_defined?(:NoMakefileError) && ' \
                 "b.__send__(:remove_const, :NoMakefileError) }"

  def test_without_a_compiler
    out, status, files = configure(OLD_RUBYGEMS, programs: %w[make])
    assert status.success?, out
    assert_match(/\Atrunkline is installed without its extension/, out.lines.grep(/trunkline is/).first)
    refute_includes out, "MAKE=true"
    assert_match(/there is no C compiler/, files["extension_missing.txt"])
    assert_match(/^all install clean/, files["Makefile"])
  end

  def test_without_make_the_message_says_what_to_do
    out, status, = configure(OLD_RUBYGEMS)
    assert status.success?, out
    assert_includes out, "MAKE=true gem install trunkline"
    out, = configure(OLD_RUBYGEMS, programs: %w[true], environment: { "MAKE" => "true" })
    refute_includes out, "gem install"
  end

  def test_a_rubygems_that_runs_no_make_without_a_makefile_gets_none
    out, status, files = configure(NEW_RUBYGEMS)
    assert status.success?, out
    refute_includes out, "MAKE=true"
    assert_nil files["Makefile"]
    refute_nil files["extension_missing.txt"]
  end

  def test_windows
    out, status, files = configure("#{OLD_RUBYGEMS}; #{WINDOWS}", programs: %w[make])
    assert status.success?, out
    assert_match(/Windows/, files["extension_missing.txt"])
    assert_equal 1, out.lines.size, out
  end

  def test_a_wanted_extension_is_an_error
    out, status, files = configure(OLD_RUBYGEMS, environment: { "TRUNKLINE_ENGINE" => "c" })
    refute status.success?
    assert_match(/there is no C compiler/, out)
    assert_nil files["extension_missing.txt"]
  end

  private

  # @param first [String] Ruby that is run before extconf.rb
  # @param programs [Array<String>] the programs that are there
  # @return [Array(String, Process::Status, Hash)] the output, the exit status, and the files that were written
  def configure(first, programs: [], environment: {})
    Dir.mktmpdir do |folder|
      Dir.mkdir("#{folder}/bin")
      programs.each { |name| File.symlink(path_of(name), "#{folder}/bin/#{name}") }
      bare = { "PATH" => "#{folder}/bin", "TRUNKLINE_ENGINE" => nil, "MAKE" => nil, "RUBYOPT" => nil, **environment }
      File.write("#{folder}/bin/first.rb", first)
      out, status = Open3.capture2e(bare, RbConfig.ruby, "-r#{folder}/bin/first.rb", EXTCONF, chdir: folder)
      files = Dir.children(folder) - ["bin"]
      [out, status, files.to_h { |name| [name, File.read("#{folder}/#{name}")] }]
    end
  end

  def path_of(name) = ENV.fetch("PATH").split(":").map { |path| "#{path}/#{name}" }.find { |path| File.exist?(path) }
end
