# frozen_string_literal: true

# The engine's folders from the lowest to the highest: a file includes from its own folder and from lower ones. Headers
# that only their own folder includes are named *_internal.h. (All headers of the highest folder would be.)
module Includes
  EXT = File.join(ROOT, "trunkline/ext/trunkline")
  ORDER = %w[
    protocol protocol/http1 protocol/url protocol/http2 protocol/codings protocol/json
    transport/events transport/common transport/names transport/tls transport/dial transport/connection transport/http2
    transport/pool transport/exchange transport ruby
  ].freeze
  INTERNAL = "_internal.h"

  module_function

  # Returns a sentence for each fault; an empty list when there is none.
  def faults
    included = sources.to_h { |source| [source, headers_of(source)] }
    included.flat_map { |source, headers| headers.filter_map { |header| fault(source, header) } } + unmarked(included)
  end

  def sources = Dir.glob("**/*.{c,h}", base: EXT)

  # Returns the headers that a file includes, as paths from EXT.
  def headers_of(source)
    File.read(File.join(EXT, source)).scan(/^#include "([^"]+)"/).map do |(name)|
      name.include?("/") ? name : File.join(File.dirname(source), name)
    end
  end

  def fault(source, header)
    folder = File.dirname(source)
    included = File.dirname(header)
    return if included == folder
    return "#{source} includes #{header}, which is internal to its folder" if header.end_with?(INTERNAL)
    return "#{source}: #{folder} is not in ORDER of #{__FILE__}" unless (own = ORDER.index(folder))

    "#{source} includes #{header}, which is above it" unless ORDER.index(included)&.<(own)
  end

  # Headers without the suffix that no other folder includes, neither by themselves nor by another header.
  def unmarked(included)
    used = included.flat_map { |source, headers| headers.reject { |one| File.dirname(one) == File.dirname(source) } }
    used.each { |header| used.concat(included.fetch(header, []) - used) } # also visits the headers that it adds
    private = included.keys.grep(/\.h\z/) - used.uniq
    private.reject { |header| header.end_with?(INTERNAL) || File.dirname(header) == ORDER.last }
      .map { |header| "#{header} is included in its own folder only: name it *#{INTERNAL}" }
  end
end
