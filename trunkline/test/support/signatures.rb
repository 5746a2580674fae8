# frozen_string_literal: true

require "pathname"

# The gems' signatures as rbs reads them, for tests of them.
module Signatures
  # Ruby's own libraries that the signatures refer to.
  LIBRARIES = %w[uri openssl ipaddr logger json net-http pathname].freeze

  # @param folders [Array<String>] sig/ folders of gems
  # @return [RBS::Environment]
  # @raise [LoadError] when rbs is not installed
  def self.environment(*folders)
    require "rbs"
    loader = RBS::EnvironmentLoader.new
    LIBRARIES.each { |name| loader.add(library: name, version: nil) }
    folders.each { |folder| loader.add(path: Pathname(folder)) }
    RBS::Environment.from_loader(loader).resolve_type_names
  end
end
