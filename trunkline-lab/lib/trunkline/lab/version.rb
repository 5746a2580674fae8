# frozen_string_literal: true

module Trunkline
  module Lab
    VERSION = "0.1.0"
  end
end
