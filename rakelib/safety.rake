# frozen_string_literal: true

namespace :safety do
  desc "Write docs/safety.md from the table of hostile servers"
  task :docs do
    require_relative "../trunkline/test/hostile/page"
    File.write(File.join(ROOT, "docs/safety.md"), HostilePage.text)
  end
end
