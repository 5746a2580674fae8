# frozen_string_literal: true

require "tempfile"

# Required by a process that runs tests: the Ruby programs that it starts find the gems of this bundle by their folders.
# Starting Bundler in each of them would take as long as many of them run.
GEM_FOLDERS = Tempfile.new(["gem_folders", ".rb"])
folders = Gem.loaded_specs.each_value.flat_map(&:full_require_paths).uniq
GEM_FOLDERS.write("$LOAD_PATH.unshift(*#{folders.inspect})\n")
GEM_FOLDERS.close
ENV["RUBYOPT"] = ENV["RUBYOPT"]&.sub(%r{-r\S*bundler/setup}, "-r#{GEM_FOLDERS.path}")
