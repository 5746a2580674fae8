# frozen_string_literal: true

# Where runs of trunkline-bulk may be worked off, and keep their state. One gem a line, sorted.
gem "activejob", ">= 7.1", require: false
gem "activerecord", ">= 7.1", require: false
gem "good_job", "~> 4.0", require: false
gem "pastel", "~> 0.8", require: false
gem "pg", "~> 1.5", require: false
gem "rbs", "~> 3.6", platforms: :ruby, require: false
gem "redis-client", ">= 0.22", require: false
gem "solid_queue", "~> 1.1", require: false
gem "trilogy", "~> 2.9", require: false
gem "tty-cursor", "~> 0.7", require: false
gem "webrobots", "~> 0.1", require: false
gem "zstd-ruby", "~> 1.5", require: false
