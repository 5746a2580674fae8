# frozen_string_literal: true

namespace :safety do
  desc "Write docs/safety.md from the table of hostile servers"
  task :docs do
    require_relative "../trunkline/test/hostile/page"
    File.write(File.join(ROOT, "docs/safety.md"), HostilePage.text)
  end

  desc "Try every client that is installed on the hostile servers (trunkline-lab safety); kept for docs/safety.md"
  task peers: :compile do
    require_relative "support/kept_safety"
    KeptSafety.write("trunkline/test/hostile/peers.json")
    Rake::Task["safety:docs"].invoke
  end

  desc "The responses of llhttp's own tests, by both engines (LLHTTP=a checkout of github.com/nodejs/llhttp)"
  task llhttp: :compile do
    folder = ENV.fetch("LLHTTP", nil)
    next puts("not run: llhttp's tests, because LLHTTP names no checkout of them") if folder.nil?

    %w[c ruby].each do |engine|
      sh({ "TRUNKLINE_ENGINE" => engine }, RbConfig.ruby, "-I", "trunkline/lib", "trunkline/test/hostile/llhttp.rb",
         folder, verbose: false)
    end
  end

  desc "Each entry of a list of ways around egress guards, by both engines (SSRF=a folder of Markdown files)"
  task egress: :compile do
    folder = ENV.fetch("SSRF", nil)
    next puts("not run: the lists of ways around guards, because SSRF names no folder of them") if folder.nil?

    %w[c ruby].each do |engine|
      sh({ "TRUNKLINE_ENGINE" => engine }, RbConfig.ruby, "-I", "trunkline/lib",
         "trunkline/test/hostile/egress_lists.rb", folder, verbose: false)
    end
  end
end
