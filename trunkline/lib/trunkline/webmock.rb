# frozen_string_literal: true

# The adapter for WebMock. It is loaded without this file when a client is made, or a facade first used, after WebMock.
require_relative "facades/webmock/adapter"
