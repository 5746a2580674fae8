# frozen_string_literal: true

require_relative "support/jruby_chroot"

JRUBIES = [JRubyChroot.new("jruby-trixie", release: "trixie"), JRubyChroot.new("jruby-sid", release: "sid")].freeze

# The suite of trunkline on JRuby 9.4 (trixie) and 10 (sid). trunkline/test/engines_jruby.yml lists the tests that it
# leaves out, in addition to engines.yml.
module JRubySuite
  AREAS = %w[client encodings framing truncation early_responses request_bodies streaming each_json pool
             client_certificates
             tls_files sockets errors limits response multipart sharing endings exchanges flow negotiation
             batch future deadline cases http2_cases many_streams websocket websocket_over_http2
             signals exit leaks tls].freeze
  # Tests that run without JRubyChroot::QUICK, since Java's first compiler alone is too slow for TLS of 200 MB.
  LONG = %w[/transport/test_tls.rb /http2/test_flow.rb].freeze
  # Tests that need TracePoint, which JRuby supports only with --debug.
  TRACED = %w[/scheduler/test_interrupted_futures.rb].freeze
  # Tests use trunkline-lab to drive a browser and to write a page.
  PATHS = "-Itrunkline/lib -Itrunkline/test -Itrunkline-lab/lib"
  RUNNER = "rakelib/support/chosen_tests.rb"
  # Each process runs several files, because starting JRuby takes ten seconds; but a file that hangs also stops the
  # other files of its process.
  FILES_AT_ONCE = 8
  SECONDS = 1200 # for a process; some tests start a dozen programs

  module_function

  def run(files)
    failed = failed(files, chosen)
    abort "failed:\n#{failed.join("\n")}" unless failed.empty?
  end

  # @return [Array<String>] "chroot: files" of each process that failed
  def failed(files, chroots)
    chroots.flat_map do |chroot|
      chroot.prepare(ROOT)
      chroot.jruby("--version", seconds: SECONDS)
      groups(files).reject { |group| passes?(chroot, group) }.map { |group| "#{chroot.name}: #{group.join(" ")}" }
    end
  end

  # Adjacent files go to different processes, so that each process gets files of every kind.
  def groups(files)
    alone, others = files.partition { |file| file.end_with?(*TRACED, *LONG) }
    count = others.size.fdiv(FILES_AT_ONCE).ceil
    alone.map { |file| [file] } + others.group_by.with_index { |_, at| at % count }.values
  end

  def chosen
    names = ENV["MATRIX"]&.split(",")&.map { |name| name.start_with?("jruby-") ? name : "jruby-#{name}" }
    JRUBIES.select { |one| names.nil? || names.include?(one.name) }
  end

  def passes?(chroot, files)
    puts "== #{chroot.name}: #{files.join(" ")}"
    options = files.first.end_with?(*TRACED) ? "--debug #{PATHS}" : PATHS
    settings = files.first.end_with?(*LONG) ? "" : JRubyChroot::QUICK
    chroot.jruby("#{options} #{RUNNER} #{files.join(" ")}", seconds: SECONDS, settings: settings)
  end

  def relative(files) = files.map { |file| file.delete_prefix("#{ROOT}/") }.sort

  # Returns all files but those in files and folders that the lists leave out as a whole, since these may not even load.
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
