# frozen_string_literal: true

# Real servers for the tests of trunkline.
gem "puma", "~> 8.0", require: false
gem "rack", "~> 3.1", require: false

# The newest scheduler for fibers that each Ruby can have.
gem "async", ">= 2.20", require: false

# Header compression for the scripted server of HTTP/2.
gem "protocol-hpack", "~> 1.5", require: false
