# frozen_string_literal: true

require_relative "support/chroot"
require_relative "support/ci"

CHROOTS = [
  Chroot.new("trixie"),
  Chroot.new("sid", ruby: "ruby3.4", extra_suite: "experimental")
].select { |chroot| ENV["MATRIX"].nil? || ENV["MATRIX"].split(",").include?(chroot.name) }.freeze

VERSIONS = <<~RUBY
  require "openssl"
  puts RUBY_DESCRIPTION, OpenSSL::OPENSSL_LIBRARY_VERSION, `nginx -v 2>&1`, `gcc --version`.lines.first
RUBY

# @return [Array<String>] the names of the chroots in which the suite failed
def failed_chroots
  failed = CHROOTS.reject do |chroot|
    puts "== #{chroot.name}"
    chroot.copy_checkout(ROOT)
    chroot.run("bin/setup && ruby -e #{VERSIONS.shellescape} && bundle exec rake matrix:suite", exception: false)
  end
  failed.map(&:name)
end

# Runs a task with the Ruby of the first chroot.
def in_newer_ruby(task)
  chroot = CHROOTS.first
  chroot.build
  chroot.copy_checkout(ROOT)
  chroot.run("bin/setup && bundle exec rake #{task}")
end

desc "The whole suite on newer Rubies and OpenSSLs, and on JRuby, in chroots built once (root; " \
     "MATRIX=trixie,sid,jruby-trixie,jruby-sid)"
task matrix: "matrix:build" do
  names = ENV["MATRIX"]&.split(",")
  jrubies = JRUBIES.select { |one| names.nil? || names.include?(one.name) }
  abort "matrix: MATRIX=#{ENV.fetch("MATRIX", nil)} names none of the chroots" if CHROOTS.empty? && jrubies.empty?

  failed = failed_chroots + JRubySuite.failed(JRubySuite.all, jrubies)
  abort "failed on:\n#{failed.join("\n")}" unless failed.empty?
end

namespace :matrix do
  desc "Build the chroots that are not there yet (in #{Chroot::HOME})"
  task(:build) { CHROOTS.each(&:build) }

  desc "What is run inside: everything that can differ with the Ruby, the compiler or the libraries"
  task :suite do
    tasks = %w[compile:pedantic protocol:test transport:test transport:test:poll trunkline:test engines:test xml:test
               lab:test bulk:test poll:test soak:short docs:test]
    exit(CI.new(tasks.to_h { |task| [task, task] }, alone: %w[trunkline:test engines:test poll:test soak:short],
                                                    quiet: %w[compile:pedantic]).run)
  end
end
