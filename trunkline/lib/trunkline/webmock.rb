# frozen_string_literal: true

# The adapter for WebMock. It is loaded automatically when a client is made, or a facade is first used, after WebMock
# was loaded.
require_relative "facades/webmock/adapter"
