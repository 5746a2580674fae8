# frozen_string_literal: true

# What trunkline-xml is compared with and works for in its tests. Nokogiri is in the root Gemfile.
gem "builder", "~> 3.3", require: false
gem "gyoku", "~> 1.4", require: false
gem "rails", "~> 7.2", require: false # the newest that Ruby 3.1 can install; 7.1 and newer are supported
gem "rexml", "~> 3.4", require: false
