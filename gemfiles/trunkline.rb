# frozen_string_literal: true

# Real servers for the tests of trunkline.
gem "puma", "~> 8.0", require: false
gem "rack", "~> 3.1", require: false

# Who may keep the state of circuit breakers. Stoplight 6 needs Ruby 3.3.
gem "semian", ">= 0.22", require: false
gem "stoplight", "~> 6.0", require: false if RUBY_VERSION >= "3.3"

# The newest scheduler for fibers that each Ruby can have.
gem "async", ">= 2.20", require: false

# Header compression for the scripted server of HTTP/2.
gem "protocol-hpack", "~> 1.5", require: false

# HTTP/2 and br in the engine in Ruby; its zstd is with trunkline-bulk.
gem "brotli", ">= 0.9", platforms: :mri, require: false
gem "http-2", "~> 1.1", require: false

# What cookies: needs.
gem "http-cookie", "~> 1.1", require: false
gem "public_suffix", ">= 5", require: false

# What the frames of WebSocket need.
gem "websocket-driver", "~> 0.8", require: false

# How a test has functions of libc fail; Ruby brings it until 3.4.
gem "fiddle", require: false if RUBY_VERSION >= "3.5"

# Transactions of ActiveRecord, in which calls are found.
gem "sqlite3", ">= 1.4", require: false

# An example of middleware signs with it.
gem "aws-sigv4", "~> 1.10", require: false

# The examples of jobs.
gem "sidekiq", "~> 7.3", require: false
gem "connection_pool", "< 3", require: false # Sidekiq 7.3 gives it arguments that 3.0 refuses

# A second judge of event streams.
gem "event_stream_parser", "~> 1.0", require: false

# The stores of ActiveSupport that keep answers on a server, or in a database.
gem "dalli", ">= 3.2", require: false
gem "redis", ">= 5.0", require: false
gem "solid_cache", "~> 1.0", require: false
