# frozen_string_literal: true

require_relative "support/chroot"

desc "The streams of libraries for model APIs, newest versions, token by token, on trixie's Ruby 3.3 (root)"
task :model_streams do
  chroot = Chroot.new("trixie")
  chroot.build
  chroot.copy_checkout(ROOT)
  chroot.run("bin/setup && bundle exec rake model_streams:here")
end

namespace :model_streams do
  desc "The same on this Ruby, 3.2 or newer"
  task here: :compile do
    abort "model_streams: some of the gems want Ruby 3.2, and this is #{RUBY_VERSION}" if RUBY_VERSION < "3.2"

    require_relative "../trunkline/test/support/separate_bundle"
    SeparateBundle.install("models") or abort "model_streams: not all gems could be installed"
    ruby "-I", "trunkline/lib", "trunkline/test/facades/model_streams/delays.rb"
  end
end
