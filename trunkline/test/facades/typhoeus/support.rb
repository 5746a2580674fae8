# frozen_string_literal: true

require_relative "../../test_helper"
require "trunkline/typhoeus"

# Base of the Typhoeus tests. Removes callbacks, stubs and idle connections before and after each test.
class TyphoeusTest < TrunklineTest
  CALLBACKS = %i[before on_complete on_success on_failure on_headers on_progress].freeze
  CONFIG = %i[block_connection memoize verbose timeout connecttimeout cache user_agent proxy exclude_features
              policies].freeze

  def setup
    super
    reset
  end

  def teardown
    reset
    super
  end

  # Seconds; long enough for a run with GC.stress.
  PATIENCE = 60

  def request(url, **options) = Typhoeus::Request.new(url, { timeout: PATIENCE }.merge(options))

  def hydra(**options) = Typhoeus::Hydra.new(options)

  # Responds to each request with its own request line, fields and body.
  def serve_echo
    serve { |connection| while (got = connection.read_request) do connection << response_bytes(got.raw) end }
  end

  private

  def reset
    CALLBACKS.each { |kind| Typhoeus.public_send(kind).clear }
    CONFIG.each { |name| Typhoeus::Config.public_send(:"#{name}=", nil) }
    Typhoeus::Expectation.clear
    Typhoeus::Pool.clear
  end
end
