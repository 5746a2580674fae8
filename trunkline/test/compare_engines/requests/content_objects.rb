# frozen_string_literal: true

# Objects of a caller's own classes, which are given as a body, a part or a member of JSON.
module ContentObjects
  # Encodes itself.
  class OwnJSON
    def to_json(*) = "{\"own\":1}"
  end

  # Converts itself, as objects of ActiveSupport do.
  class OwnHash
    def as_json(*) = { "own" => 2 }
    def to_h = { "own" => 3 }
    def to_s = "own"
  end

  # An Enumerable that raises when it comes to a class of error.
  class Chunks
    include Enumerable

    def initialize(chunks)
      @chunks = chunks
    end

    def each
      @chunks.each { |chunk| chunk.is_a?(Class) ? raise(chunk, "of the caller") : yield(chunk) }
    end
  end

  # Has no method of an IO but read.
  class Reader
    def initialize(chunks)
      @chunks = chunks
    end

    def read(*) = @chunks.shift
  end
end
