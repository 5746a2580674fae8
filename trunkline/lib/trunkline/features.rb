# frozen_string_literal: true

require_relative "engine"
require_relative "version"

module Trunkline # rubocop:disable Style/Documentation -- trunkline.rb has it
  # @return [Hash{Symbol => Object}] what this build supports. version: of the gem; engine: "C" or "Ruby"; http2:
  #   whether HTTP/2 is supported; codings: Array<String> of the content codings that are requested and decoded;
  #   libraries: Hash of names and versions, nil for a library that the gem was built without
  def self.features
    { version: VERSION, engine: ENGINE == :c ? "C" : "Ruby", http2: Engine::HTTP2, codings: Engine::CODINGS.split(", "),
      libraries: Engine.libraries }
  end
end
