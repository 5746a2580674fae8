# frozen_string_literal: true

require "bundler"
require_relative "support/jruby"

# Tasks of trunkline-xml. The extensions are built by `compile`.
module XMLSuite
  FOLDER = "trunkline-xml"
  BINARY = "trunkline_xml"

  module_function

  def extensions
    EXTENSIONS.select { |extension| extension.name.start_with?(BINARY) }
  end

  # Runs the block on extensions built with these switches; afterwards builds the default ones again.
  def with_extensions(switches)
    extensions.each { |extension| extension.build(switches) }
    yield
  ensure
    extensions.each { |extension| extension.build({}) }
  end

  def runtimes
    %w[libasan.so libubsan.so].map { |name| `gcc -print-file-name=#{name}`.chomp }
  end
end

task test: "xml:test"

namespace :xml do
  desc "Compile the extensions of trunkline-xml"
  task :compile do
    XMLSuite.extensions.each(&:build)
  end

  desc "The suite of trunkline-xml: in C, and again in Ruby alone (TREES=20000, SEED, TRUNKLINE_GC=compact|stress)"
  task test: :compile do
    Suites.run(XMLSuite::FOLDER)
    puts "== the same in Ruby and with Nokogiri's parser, without the extensions"
    Suites.run(XMLSuite::FOLDER, "TRUNKLINE_XML" => "ruby", "TRUNKLINE_XML_PARSER" => "nokogiri",
                                 "TREES" => ENV.fetch("TREES", "4000"))
  end

  desc "A million random documents beside Builder's (TREES, SEED)"
  task fuzz: :compile do
    environment = { "TREES" => ENV.fetch("TREES", "1000000") }
    sh environment, RbConfig.ruby, "-Itrunkline-xml/lib", "-Itrunkline-xml/test",
       "trunkline-xml/test/test_differential.rb"
  end

  desc "The suite on an escape routine without vector instructions"
  task :scalar do
    XMLSuite.with_extensions("SCALAR" => "1") { Suites.run(XMLSuite::FOLDER, "TREES" => "4000") }
  end

  desc "The suite under AddressSanitizer and UndefinedBehaviorSanitizer"
  task :asan do
    # Ruby frees most of its memory only by ending the process, so memcheck searches for leaks instead; and Ruby
    # allocates signal stacks for its threads.
    sanitizers = { "LD_PRELOAD" => XMLSuite.runtimes.join(" "),
                   "ASAN_OPTIONS" => "detect_leaks=0:use_sigaltstack=0",
                   "UBSAN_OPTIONS" => "print_stacktrace=1:halt_on_error=1" }
    XMLSuite.with_extensions("SANITIZE" => "address,undefined") do
      Suites.run(XMLSuite::FOLDER, sanitizers.merge("TREES" => "4000"))
    end
  end

  desc "The suite under valgrind"
  task memcheck: :compile do
    require "ruby_memcheck"
    ENV["TREES"] ||= "300"
    RubyMemcheck.config(binary_name: XMLSuite::BINARY,
                        valgrind_suppressions_dir: "#{ROOT}/trunkline-xml/test/suppressions")
    RubyMemcheck::TestTask.new("xml:memcheck:run") do |task|
      task.libs = %w[trunkline-xml/lib trunkline-xml/test]
      # Leaves out Rails, whose loading alone takes minutes under valgrind: its tests run under the sanitizers.
      task.test_files = Suites.files(XMLSuite::FOLDER).grep_v(/rail|to_xml|drop_in|template|suite/)
    end
    Rake::Task["xml:memcheck:run"].invoke
  end

  desc "The suite with a compacting collector, and with one that runs at every allocation (ten minutes)"
  task gc: :compile do
    Suites.run(XMLSuite::FOLDER, "TRUNKLINE_GC" => "compact", "TREES" => "4000")
    Suites.run(XMLSuite::FOLDER, "TRUNKLINE_GC" => "stress", "TREES" => "300")
  end
end

namespace :xml do
  desc "The suite of trunkline-xml on JRuby (Java 17, some hundred MB of gems in tmp/jruby; not part of ci)"
  task :jruby do
    gemfile = <<~RUBY
      source "https://rubygems.org"
      gem "minitest", "~> 5.25"
      gem "nokogiri"
      gem "psych", "5.2.3" # JRuby's own: others want Maven to fetch them a jar
      eval_gemfile "#{ROOT}/gemfiles/xml.rb"
    RUBY
    jruby = JRuby.new("#{ROOT}/tmp/jruby", gemfile: gemfile)
    jruby.build
    jruby.run(*Suites.arguments(XMLSuite::FOLDER), TREES: ENV.fetch("TREES", "1000"))
  end
end

namespace :bench do
  desc "Measure trunkline-xml beside its peers (about three minutes; BENCH_ROUNDS, BENCH_SLICE make it quicker)"
  task xml: "xml:compile" do
    require "bundler"
    Bundler.with_unbundled_env { ruby "trunkline-xml/benchmark/run.rb" }
  end
end
