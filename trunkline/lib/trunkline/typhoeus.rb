# frozen_string_literal: true

# All of Typhoeus' public API (1.4 and 1.7; where they differ, 1.7) on Trunkline's engine, for programs that do not
# load Typhoeus itself:
#
#   require "trunkline/typhoeus"
#
#   hydra = Typhoeus::Hydra.new(max_concurrency: 20)
#   requests = urls.map { |url| Typhoeus::Request.new(url, timeout: 5).tap { |request| hydra.queue(request) } }
#   hydra.run
#   requests.map { |request| request.response.code }
#
# A later require "typhoeus" finds it there already. docs/switching.md names every known difference.
if defined?(Typhoeus::VERSION)
  raise LoadError, "Typhoeus #{Typhoeus::VERSION} itself is loaded: trunkline/typhoeus takes its place and cannot " \
                   "stand beside it; leave `gem \"typhoeus\"` out of the Gemfile, or give it `require: false`"
end

require_relative "../trunkline"
require_relative "typhoeus/errors"
require_relative "typhoeus/config"
require_relative "typhoeus/callbacks"
require_relative "typhoeus/request"
require_relative "typhoeus/response"
require_relative "typhoeus/expectation"
require_relative "typhoeus/cache"
require_relative "typhoeus/hydra"
require_relative "typhoeus/shortcuts"

$LOADED_FEATURES << "typhoeus.rb"
