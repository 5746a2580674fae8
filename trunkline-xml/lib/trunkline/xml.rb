# frozen_string_literal: true

require_relative "xml/version"
require_relative "xml/markup"
require_relative "xml/events"
require_relative "xml/strict"
require_relative "xml/native"
