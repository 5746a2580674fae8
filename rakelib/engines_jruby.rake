# frozen_string_literal: true

require_relative "support/jruby_chroot"

JRUBIES = [JRubyChroot.new("jruby-trixie", release: "trixie"), JRubyChroot.new("jruby-sid", release: "sid")].freeze

# The suite of trunkline on JRuby 9.4 (trixie) and 10 (sid). What it leaves out is in trunkline/test/engines_jruby.yml,
# beside engines.yml.
module JRubySuite
  AREAS = %w[client encodings framing truncation early_answers request_bodies streaming each_json pool
             client_certificates
             tls_files sockets errors limits response multipart sharing endings exchanges flow negotiation
             batch future deadline cases http2_cases many_streams websocket websocket_over_http2
             signals exit leaks tls].freeze
  # For which Java's first compiler alone is too slow: TLS of 200 MB.
  LONG = %w[/transport/test_tls.rb /http2/test_flow.rb].freeze
  # For which JRuby has to tell of its steps (TracePoint).
  TRACED = %w[/scheduler/test_interrupted_futures.rb].freeze
  # The lab drives the browser of a test, and writes a page.
  PATHS = "-Itrunkline/lib -Itrunkline/test -Itrunkline-lab/lib"
  RUNNER = "rakelib/support/chosen_tests.rb"
  # To begin a process takes JRuby ten seconds; but one file that hangs takes the others of its process with it.
  FILES_AT_ONCE = 8
  SECONDS = 1200 # for a process; some tests begin a dozen programs

  module_function

  def run(files)
    failed = chosen.flat_map do |chroot|
      chroot.prepare(ROOT)
      chroot.jruby("--version", seconds: SECONDS)
      groups(files).reject { |group| passes?(chroot, group) }.map { |group| "#{chroot.name}: #{group.join(" ")}" }
    end
    abort "failed:\n#{failed.join("\n")}" unless failed.empty?
  end

  # Neighbours in different processes: each gets files of every kind.
  def groups(files)
    alone, others = files.partition { |file| file.end_with?(*TRACED, *LONG) }
    count = others.size.fdiv(FILES_AT_ONCE).ceil
    alone.map { |file| [file] } + others.group_by.with_index { |_, at| at % count }.values
  end

  def chosen
    names = ENV["MATRIX"]&.split(",")&.map { |name| "jruby-#{name}" }
    JRUBIES.select { |one| names.nil? || names.include?(one.name) }
  end

  def passes?(chroot, files)
    puts "== #{chroot.name}: #{files.join(" ")}"
    options = files.first.end_with?(*TRACED) ? "--debug #{PATHS}" : PATHS
    settings = files.first.end_with?(*LONG) ? "" : JRubyChroot::QUICK
    chroot.jruby("#{options} #{RUNNER} #{files.join(" ")}", seconds: SECONDS, settings: settings)
  end

  def relative(files) = files.map { |file| file.delete_prefix("#{ROOT}/") }.sort

  # Without the files and folders that are left out as a whole, since these may not even load there.
  def all
    lists = Dir["#{ROOT}/trunkline/test/engines{,_jruby,_jruby_9}.yml"].map { |list| YAML.load_file(list) }
    places = lists.flat_map(&:keys).grep(%r{/})
    relative(Suites.files("trunkline")).reject { |file| places.any? { |place| file.include?("/#{place}") } }
  end
end

namespace :engines do
  desc "The main part of the suite on JRuby 9.4 and 10, in chroots built once (root; MATRIX=trixie,sid, FILES=...)"
  task :jruby do
    files = ENV["FILES"] ? Suites.files("trunkline") : Suites.named("trunkline", JRubySuite::AREAS)
    JRubySuite.run(JRubySuite.relative(files))
  end

  desc "All of it that JRuby can run (an hour)"
  task("jruby:all") { JRubySuite.run(JRubySuite.all) }
end
