# frozen_string_literal: true

# What the faces of trunkline stand in for, and those who use it. One gem a line, sorted.
gem "aws-sdk-s3", "~> 1.170", require: false
gem "faraday", "~> 2.14", require: false
gem "faraday-follow_redirects", "~> 0.3", require: false
gem "faraday-multipart", "~> 1.0", require: false
gem "faraday-net_http", "~> 3.4", require: false
gem "faraday-retry", "~> 2.3", require: false
gem "httparty", "~> 0.22", require: false
gem "mechanize", "~> 2.12", require: false
gem "net-http-persistent", "~> 4.0", require: false
gem "rest-client", "~> 2.1", require: false
gem "rspec", "~> 3.13", require: false
gem "ruby-anthropic", "~> 0.4", require: false
gem "ruby-openai", ">= 7.0", require: false
gem "ruby_llm", "~> 1.2.0", require: false
gem "stripe", ">= 13.0", require: false
gem "vcr", "~> 6.3", require: false
gem "webmock", "~> 3.26", require: false
