# frozen_string_literal: true

module Trunkline
  module XML
    VERSION = "0.1.0"
  end
end
