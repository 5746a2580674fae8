# frozen_string_literal: true

# What the tests of trunkline-bulk need beside its own dependencies. One gem a line, sorted.
gem "zstd-ruby", "~> 1.5", require: false
