# frozen_string_literal: true

# The public API of Typhoeus (1.4 and 1.7; where they differ, 1.7) on Trunkline's engine, for programs that do not load
# Typhoeus itself:
#
#   require "trunkline/typhoeus"
#
#   hydra = Typhoeus::Hydra.new(max_concurrency: 20)
#   requests = urls.map { |url| Typhoeus::Request.new(url, timeout: 5).tap { |request| hydra.queue(request) } }
#   hydra.run
#   requests.map { |request| request.response.code }
#
# A later require "typhoeus" does nothing. docs/switching.md lists the known differences.
if defined?(Typhoeus::VERSION)
  raise LoadError, "Typhoeus #{Typhoeus::VERSION} itself is loaded: trunkline/typhoeus takes its place and cannot " \
                   "stand beside it; leave `gem \"typhoeus\"` out of the Gemfile, or give it `require: false`"
end

require_relative "../trunkline"
require_relative "facades/typhoeus/api/errors"
require_relative "facades/typhoeus/api/config"
require_relative "facades/typhoeus/api/callbacks"
require_relative "facades/typhoeus/api/request"
require_relative "facades/typhoeus/api/response"
require_relative "facades/typhoeus/api/expectation"
require_relative "facades/typhoeus/api/cache"
require_relative "facades/typhoeus/api/hydra"
require_relative "facades/typhoeus/api/typhoeus"

if RUBY_ENGINE == "jruby"
  $LOAD_PATH.unshift("#{__dir__}/facades/typhoeus/provided")
  require "typhoeus"
else
  $LOADED_FEATURES << "typhoeus.rb"
end
