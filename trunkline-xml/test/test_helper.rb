# frozen_string_literal: true

$LOAD_PATH.unshift(File.expand_path("../lib", __dir__))

require "minitest/autorun"
require "trunkline/xml"
require "builder"
require_relative "support/garbage_collection"
require_relative "support/child"
