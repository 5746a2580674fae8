# frozen_string_literal: true

module Trunkline
  # Rack middleware for servers. It does not need the rack gem.
  module Rack
    autoload :Deadline, "#{__dir__}/rack/deadline"
  end
end
