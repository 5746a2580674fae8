# frozen_string_literal: true

require_relative "engine"
require_relative "version"

module Trunkline # rubocop:disable Style/Documentation -- trunkline.rb has it
  # @return [Hash{Symbol => Object}] what this build can do: version: of the gem; engine: ENGINE == :c ? "C" : "Ruby";
  #   http2: whether it speaks HTTP/2; codings: Array<String> of the content codings that it asks for and undoes;
  #   libraries: Hash of names and versions, nil for one that the gem was built without
  def self.features
    { version: VERSION, engine: ENGINE == :c ? "C" : "Ruby", http2: Engine::HTTP2, codings: Engine::CODINGS.split(", "),
      libraries: Engine.libraries }
  end
end
