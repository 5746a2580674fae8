# frozen_string_literal: true

require "minitest/autorun"

$LOAD_PATH.unshift File.expand_path("../../lib", __dir__)
require "trunkline/errors"

# What needs no engine and no server.
class UnitTest < Minitest::Test
  # @return [Trunkline::InvalidRequest] whose message has all of those words
  def assert_refused(*words, &block)
    error = assert_raises(Trunkline::InvalidRequest, &block)
    words.each { |word| assert_includes error.message, word }
    error
  end

  # Everything a body gives, chunk by chunk.
  def chunks(body)
    chunks = []
    while (chunk = body.next_chunk)
      chunks << chunk.dup
    end
    chunks
  end
end
