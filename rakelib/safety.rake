# frozen_string_literal: true

namespace :safety do
  desc "Write docs/safety.md from the table of hostile servers, and SECURITY.md's table of limits from docs/limits.md"
  task :docs do
    require_relative "../trunkline/test/hostile/page"
    require_relative "support/security_limits"
    File.write(File.join(ROOT, "docs/safety.md"), HostilePage.text)
    File.write(SecurityLimits::PAGE, SecurityLimits.page)
  end

  desc "Try every client that is installed on the hostile servers (trunkline-lab safety); kept for docs/safety.md"
  task peers: :compile do
    require_relative "support/kept_safety"
    KeptSafety.write("trunkline/test/hostile/peers.json")
    Rake::Task["safety:docs"].invoke
  end

  { llhttp: "nodejs/llhttp", hyper: "hyperium/hyper" }.each do |name, repository|
    desc "The responses of #{name}'s own tests, by both engines (#{name.upcase}=a checkout of github.com/#{repository})"
    task name => :compile do
      folder = ENV.fetch(name.upcase.to_s, nil)
      next puts("not run: #{name}'s tests, because #{name.upcase} names no checkout of them") if folder.nil?

      %w[c ruby].each do |engine|
        sh({ "TRUNKLINE_ENGINE" => engine }, RbConfig.ruby, "-I", "trunkline/lib", "trunkline/test/hostile/#{name}.rb",
           folder, verbose: false)
      end
    end
  end

  desc "h2spec's client mode, by both engines (H2SPECD=the program of that name of github.com/summerwind/h2spec)"
  task h2spec: :compile do
    program = ENV.fetch("H2SPECD", nil)
    next puts("not run: h2spec's cases for clients, because H2SPECD names no such program") if program.nil?

    %w[c ruby].each do |engine|
      sh({ "TRUNKLINE_ENGINE" => engine }, RbConfig.ruby, "trunkline/test/hostile/h2spec.rb", program, verbose: false)
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
