# frozen_string_literal: true

# The Faraday adapter:
#
#   require "trunkline/faraday"
#
#   Faraday.new("https://api.test", request: { timeout: 5 }) { |faraday| faraday.adapter :trunkline }
require_relative "../faraday/adapter/trunkline"
