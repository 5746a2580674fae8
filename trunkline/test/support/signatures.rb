# frozen_string_literal: true

require "pathname"

# The signatures of gems as rbs reads them, for tests of these.
module Signatures
  # What signatures name of Ruby's own.
  LIBRARIES = %w[uri openssl ipaddr logger json net-http pathname].freeze

  # @param folders [Array<String>] sig/ of gems
  # @return [RBS::Environment]
  # @raise [LoadError] without rbs
  def self.environment(*folders)
    require "rbs"
    loader = RBS::EnvironmentLoader.new
    LIBRARIES.each { |name| loader.add(library: name, version: nil) }
    folders.each { |folder| loader.add(path: Pathname(folder)) }
    RBS::Environment.from_loader(loader).resolve_type_names
  end
end
