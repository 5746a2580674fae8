# frozen_string_literal: true

module Trunkline
  # Middleware for servers. The rack gem is not needed for it.
  module Rack
    autoload :Deadline, "#{__dir__}/rack/deadline"
  end
end
