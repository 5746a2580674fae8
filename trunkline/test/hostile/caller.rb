# frozen_string_literal: true

require_relative "../support/call_styles"
require_relative "cases"
require "faraday"
require "trunkline/faraday"
require "trunkline/typhoeus"

# Calls the server of a case in every way and through the facades, and checks the result against the table.
module HostileCaller
  include CallStyles

  TESTED_STYLES = %i[alone batch future].freeze

  private

  # @yield must return the server
  # @param styles [Array<Symbol>] of TESTED_STYLES
  # @param options [Hash] options of the client
  def every_call_style(row, styles: TESTED_STYLES, **options)
    skip "built without #{row.coding}" if row.coding && !Trunkline.features[:codings].include?(row.coding)
    server = yield
    each_call_style(but: CallStyles::CALL_STYLES.keys - styles) do |style, call|
      http = secure_client(server.url, **options)
      http.get("/good") if row.warm
      check(row, style, call.call(http, row.verb, "/", row.options)) { http.get("/good").body }
    end
    return unless FIBERS

    http = secure_client(server.url, **options)
    http.get("/good") if row.warm
    Sync { check(row, :fiber, result_of { http.request(row.verb, "/", row.options) }) { http.get("/good").body } }
  end

  # @yield must return the body of the next call
  def check(row, style, result, &block)
    if row.fails?
      assert_equal "Trunkline::#{row.expected}", result.class.name, "#{style}: #{result.inspect[0, 300]}"
    elsif row.expected == true
      assert_kind_of Net::HTTPOK, result, style
    else
      assert_equal row.expected, result.body, style
    end
    await_the_rest(row)
    return assert_late_fault_fails_one(style, &block) if row.late

    assert_equal "good", yield, style
  end

  # Waits for the bytes that the server sends after its response.
  def await_the_rest(row)
    return if row.pause.zero?

    eventually("the server has not sent the rest") { !scripts_played.empty? }
    scripts_played.clear
    sleep row.pause
  end

  # @return [Queue] the names of cases, each pushed when the server has finished its script
  def scripts_played = @scripts_played ||= Queue.new

  # A late fault may be noticed after some good calls, and ends the connection.
  def assert_late_fault_fails_one(style, &block)
    outcomes = Array.new(4) { outcome_of_next(&block) }
    assert_operator outcomes.count(:failed), :<=, 1, style
    assert_equal ["good"], outcomes.uniq - [:failed], style
  end

  # After the rescued error, the connection with the fault is closed.
  def outcome_of_next
    yield
  rescue Trunkline::InvalidResponse, Faraday::Error
    :failed
  end

  # @param options [Hash] options of the adapter
  def faraday(row, server, **options)
    http = Faraday.new(server.url, ssl: { ca_file: TestCA.ca_file }) { |one| one.adapter :trunkline, **options }
    result = begin
      http.get("/")
    rescue Faraday::Error => error
      error.wrapped_exception
    end
    check(row, :faraday, result) { http.get("/good").body }
  ensure
    http&.close
  end

  # @param options [Hash] options of Typhoeus
  def typhoeus(row, server, **options)
    options = { cainfo: TestCA.ca_file, timeout: 20, accept_encoding: "gzip", **options }
    get = ->(path) { Typhoeus.get(server.url(path), **options) }
    code = get.call("/").return_code
    expected = Trunkline::Facades::Typhoeus::Errors.return_code(Trunkline.const_get(row.expected).new) if row.fails?
    assert_equal expected || :ok, code, "Typhoeus"
    await_the_rest(row)
    eventually { get.call("/good").return_code == :ok } if row.late
    assert_equal "good", get.call("/good").body
  ensure
    Trunkline::Facades::Typhoeus::RequestConfig.connections.close_idle
  end
end
