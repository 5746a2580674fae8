# frozen_string_literal: true

require "minitest/autorun"

$LOAD_PATH.unshift File.expand_path("../../lib", __dir__)
require "trunkline/errors"

# Base of tests that need neither an engine nor a server.
class UnitTest < Minitest::Test
  # @return [Trunkline::InvalidRequest] the error, whose message must contain all of these words
  def assert_refused(*words, &block)
    error = assert_raises(Trunkline::InvalidRequest, &block)
    words.each { |word| assert_includes error.message, word }
    error
  end

  # Returns all chunks of a body.
  def chunks(body)
    chunks = []
    while (chunk = body.next_chunk)
      chunks << chunk.dup
    end
    chunks
  end
end
