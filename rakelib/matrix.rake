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

desc "The whole suite on newer Rubies and OpenSSLs, in chroots built once (root; MATRIX=trixie,sid)"
task matrix: "matrix:build" do
  abort "matrix: MATRIX=#{ENV.fetch("MATRIX", nil)} names none of the chroots" if CHROOTS.empty?
  failed = CHROOTS.reject do |chroot|
    puts "== #{chroot.name}"
    chroot.copy_checkout(ROOT)
    chroot.run("bin/setup && ruby -e #{VERSIONS.shellescape} && bundle exec rake matrix:suite", exception: false)
  end
  abort "failed on #{failed.map(&:name).join(", ")}" unless failed.empty?
end

namespace :matrix do
  desc "Build the chroots that are not there yet (in #{Chroot::HOME})"
  task(:build) { CHROOTS.each(&:build) }

  desc "What is run inside: everything that can differ with the Ruby, the compiler or the libraries"
  task :suite do
    tasks = %w[compile:pedantic protocol:test transport:test transport:test:poll trunkline:test xml:test lab:test
               bulk:test poll:test soak:short docs:test]
    exit(CI.new(tasks.to_h { |task| [task, task] }, alone: %w[trunkline:test poll:test soak:short],
                                                    quiet: %w[compile:pedantic]).run)
  end
end
