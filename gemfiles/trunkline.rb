# frozen_string_literal: true

# Real servers for the tests of trunkline.
gem "puma", "~> 8.0", require: false
gem "rack", "~> 3.1", require: false
