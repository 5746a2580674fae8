# frozen_string_literal: true

require "fileutils"

module Trunkline
  module Lab
    # The directory for gems and programs that the lab has installed or compiled: outside of any checkout, kept between
    # runs.
    module Cache
      ROOT = ENV.fetch("TRUNKLINE_LAB_CACHE") do
        File.join(ENV.fetch("XDG_CACHE_HOME") { File.join(Dir.home, ".cache") }, "trunkline-lab")
      end

      def self.directory(*names)
        File.join(ROOT, *names).tap { |path| FileUtils.mkdir_p(path) }
      end
    end
  end
end
