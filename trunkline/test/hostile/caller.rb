# frozen_string_literal: true

require_relative "../support/ways_to_call"
require_relative "cases"
require "faraday"
require "trunkline/faraday"
require "trunkline/typhoeus"

# Calls the server of a case in every way and through the facades, and checks what the table says of it.
module HostileCaller
  include WaysToCall

  WAYS = %i[alone batch future].freeze

  private

  # @yield gives the server
  # @param ways [Array<Symbol>] of WAYS
  # @param options [Hash] of the client
  def every_way(row, ways: WAYS, **options)
    skip "built without #{row.coding}" if row.coding && !Trunkline.features[:codings].include?(row.coding)
    server = yield
    each_way(but: WaysToCall::WAYS.keys - ways) do |way, call|
      http = secure_client(server.url, **options)
      http.get("/good") if row.warm
      check(row, way, call.call(http, row.verb, "/", row.options)) { http.get("/good").body }
    end
    return unless FIBERS

    http = secure_client(server.url, **options)
    http.get("/good") if row.warm
    Sync { check(row, :fiber, result_of { http.request(row.verb, "/", row.options) }) { http.get("/good").body } }
  end

  # @yield the body of the call that follows
  def check(row, way, result, &block)
    if row.fails?
      assert_equal "Trunkline::#{row.expected}", result.class.name, "#{way}: #{result.inspect[0, 300]}"
    elsif row.expected == true
      assert_kind_of Net::HTTPOK, result, way
    else
      assert_equal row.expected, result.body, way
    end
    await_the_rest(row)
    return assert_late_fault_fails_one(way, &block) if row.late

    assert_equal "good", yield, way
  end

  # What the server sends behind its answer.
  def await_the_rest(row)
    return if row.pause.zero?

    eventually("the server has not sent the rest") { !scripts_played.empty? }
    scripts_played.clear
    sleep row.pause
  end

  # @return [Queue] of the names of cases, each when the server has done all that is in its script
  def scripts_played = @scripts_played ||= Queue.new

  # It may come behind some good calls, and ends the connection.
  def assert_late_fault_fails_one(way, &block)
    outcomes = Array.new(4) { outcome_of_next(&block) }
    assert_operator outcomes.count(:failed), :<=, 1, way
    assert_equal ["good"], outcomes.uniq - [:failed], way
  end

  # The connection that the fault came over is ended by then.
  def outcome_of_next
    yield
  rescue Trunkline::InvalidResponse, Faraday::Error
    :failed
  end

  # @param options [Hash] of the adapter
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

  # @param options [Hash] of Typhoeus
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
