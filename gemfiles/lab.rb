# frozen_string_literal: true

# Checks the lab's results against their schema. Servers, charts and statistics are the gem's own dependencies.
gem "json_schemer", "~> 2.4", require: false
