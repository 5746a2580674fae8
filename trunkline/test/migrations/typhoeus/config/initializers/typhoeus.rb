# frozen_string_literal: true

require "typhoeus"
