# frozen_string_literal: true

module Trunkline
  # What a Client does with answers that are streams. What a Response does with them is in response/.
  module Streams
  end
end
