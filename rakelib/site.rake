# frozen_string_literal: true

namespace :site do
  # trunkline/docs is a link to docs/.
  pages = FileList["README.md", "docs/**/*.{md,webp,png,svg}", "trunkline*/README.md", "trunkline-*/docs/**/*.md"]

  task :pages do
    rm_rf "site/pages", verbose: false
    pages.each do |page|
      target = File.join("site/pages", page)
      mkdir_p File.dirname(target), verbose: false
      cp page, target, verbose: false
    end
  end

  task :packages do
    unless Dir.exist?("site/node_modules/vitepress")
      # Not `npm ci`, which refuses a lock file that lacks the other systems' packages a registry does not offer.
      sh "npm", "install", "--no-save", "--silent", "--no-audit", "--no-fund", chdir: "site"
    end
  end

  desc "Look at the site's pages in Chromium, at 390 and 1400 pixels: nothing is cut; screenshots in tmp/site-screens"
  task screens: :site do
    require_relative "support/site_screens"
    SiteScreens.new("tmp/site", "tmp/site-screens").take
  end
end

desc "Build the documentation as static HTML with search: tmp/site (SITE_BASE=/path/ when it is not at the root)"
task site: %i[site:pages site:packages] do
  sh "npx", "vitepress", "build", chdir: "site"
end
