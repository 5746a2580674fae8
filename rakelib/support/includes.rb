# frozen_string_literal: true

# The engine's folders from the lowest to the highest: a file includes from its own folder and from lower ones.
module Includes
  EXT = File.join(ROOT, "trunkline/ext/trunkline")
  ORDER = %w[
    protocol protocol/http1 protocol/url protocol/http2 protocol/codings protocol/json
    transport/events transport/common transport/names transport/tls transport/dial transport/connection transport/http2
    transport/pool transport/exchange transport ruby
  ].freeze

  module_function

  # Returns a sentence for each fault; an empty list when there is none.
  def faults
    sources.flat_map do |source|
      File.read(File.join(EXT, source)).scan(/^#include "([^"]+)"/).filter_map { |(name)| fault(source, name) }
    end
  end

  def sources = Dir.glob("**/*.{c,h}", base: EXT)

  def fault(source, name)
    folder = File.dirname(source)
    included = name.include?("/") ? File.dirname(name) : folder
    return if included == folder
    return "#{source}: #{folder} is not in ORDER of #{__FILE__}" unless (own = ORDER.index(folder))

    "#{source} includes #{name}, which is above it" unless ORDER.index(included)&.<(own)
  end
end
