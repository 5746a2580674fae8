# frozen_string_literal: true

module Trunkline
  class Bulk
    VERSION = "0.1.0"
  end
end
