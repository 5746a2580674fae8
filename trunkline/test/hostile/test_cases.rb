# frozen_string_literal: true

require_relative "../support/fibers"
require "fileutils"
require_relative "../test_helper"
require_relative "../support/full_backlog"
require_relative "../../../trunkline-lab/lib/trunkline/lab/faults/identities"
require_relative "caller"

# Runs each case of the table, plain and over TLS, in every way to call and through the facades: the call must end as
# the table says, and the next call of the same client must get its response.
class TestHostileCases < TrunklineTest
  include HostileCaller

  HostileCases::ASKED.each do |row|
    define_method(:"test_#{row.name}") { every_call_style(row) { serve_case(row) } unless row.only }
    define_method(:"test_#{row.name}_over_tls") do
      every_call_style(row) { serve_case(row, tls: TestCA.server_context) }
    end
    next unless row.facades?

    define_method(:"test_#{row.name}_through_the_facades") do
      server = serve_case(row, **(row.only ? { tls: TestCA.server_context } : {}))
      faraday(row, server)
      typhoeus(row.for(:typhoeus), server)
      net_http(row.for(:net_http), server)
    end
  end

  # The next call goes to a good server.
  HostileCases::UNASKED.each do |row|
    define_method(:"test_#{row.name}") do
      bad = place_of(row.fault)
      good = serve_good(tls: identities.context(:right))
      styles = CallStyles::CALL_STYLES.slice(*TESTED_STYLES)
      styles = { **styles, fiber: ->(*call) { Sync { CallStyles::CALL_STYLES[:alone].call(*call) } } } if FIBERS
      styles.each do |style, call|
        http = client(good.url, ca_file: authority)
        error = result_of { call.call(http, :get, bad.url, row.options) }
        assert_equal ["Trunkline::#{row.expected}", :none], [error.class.name, error.sent], style
        assert_equal "good", http.get("/good").body
      end
    end
  end

  # The Net::HTTP facade also accepts the certificate (common_name_only) that Ruby's own Net::HTTP accepts.
  HostileCases::UNASKED.select { |row| row.fault.place == :handshake }.each do |row|
    define_method(:"test_#{row.name}_through_the_facades") do
      bad = serve(tls: identities.context(row.fault.identity)) do |connection|
        flunk "nothing may be sent" if connection.read_request # the Net::HTTP facade checks names afterwards
      end
      http = Faraday.new(ssl: { ca_file: authority }) { |one| one.adapter :trunkline }
      error = assert_raises(Faraday::SSLError) { http.get(bad.url) }
      assert_equal "Trunkline::#{row.expected}", error.wrapped_exception.class.name
      code = Trunkline::Facades::Typhoeus::Errors.return_code(Trunkline.const_get(row.expected).new)
      assert_equal code, Typhoeus.get(bad.url, cainfo: authority, timeout: 20).return_code
      next if row.name == :common_name_only

      assert_raises(OpenSSL::SSL::SSLError) do
        Trunkline::PersistentHttpClient.get(bad.url, ca_file: authority, open_timeout: 5).get("/")
      end
    ensure
      http&.close
      Trunkline::PersistentHttpClient.clear
    end
  end

  def test_the_tables_list_existing_faults
    require_relative "http2_cases"
    named = HostileCases::EXPECTED.keys + HostileHTTP2::EXPECTED.keys
    assert_empty named - HostileCases::Faults::ALL.map(&:name)
    assert_empty [*HostileCases::ALL, *HostileHTTP2::ALL].reject(&:expected).map(&:name)
  end

  # If the test servers could not respond properly, every case that expects an error would pass.
  def test_the_right_certificate_is_accepted
    server = serve_good(tls: identities.context(:right))
    assert_equal "good", client(server.url, ca_file: authority).get("/").body
  end

  def test_the_page_is_that_of_the_table
    require_relative "page"
    path = File.expand_path("../../../docs/safety.md", __dir__)
    assert_equal HostilePage.text, File.read(path), "rake safety:docs writes docs/safety.md"
  end

  private

  # Responds properly to "/good"; to anything else with the fault of the case.
  def serve_case(row, **options)
    serve(**options) do |connection|
      while (request = row.fault.upload ? connection.read_head_only : connection.read_request)
        next connection << response_bytes("good") if request.target == "/good"

        row.script.call(connection)
        scripts_played << row.name
      end
    end
  end

  def serve_good(**options)
    serve(**options) { |connection| connection << response_bytes("good") while connection.read_request }
  end

  def place_of(fault)
    case fault.place
    when :full_queue then opened(FullBacklog.new)
    when :silent then serve(handshake: false, &:stall)
    else serve(tls: identities.context(fault.identity)) { flunk "nothing may be sent" }
    end
  end

  def identities = @identities ||= Trunkline::Lab::Faults::Identities.new

  def authority
    @authority ||= File.join(Dir.mktmpdir("trunkline-authority-"), "authority.pem").tap do |path|
      File.write(path, identities.authority)
    end
  end

  def teardown
    super
    FileUtils.rm_rf(File.dirname(@authority)) if @authority
  end

  # Like Net::HTTP after install!, for one session.
  def net_http(row, server)
    http = Trunkline::PersistentHttpClient.get(server.url, ca_file: TestCA.ca_file, read_timeout: 2)
    result = begin
      http.get("/")
    rescue StandardError => error
      error.cause
    end
    check(row, :net_http, result) { http.get("/good").body }
  ensure
    Trunkline::PersistentHttpClient.clear
  end
end
