# frozen_string_literal: true

require "json"
require_relative "test_helper"
require_relative "support/subprocess"

# Values of Rails and Addressable as options and content. The code runs in a separate program, because these gems change
# Ruby's classes.
class TestRailsValues < Minitest::Test
  PRELUDE = <<~RUBY
    $VERBOSE = nil # the warnings of other gems
    require "json"
    require "action_controller"
    require "active_support/all"
    require "addressable/uri"

    def build(url = "http://a.test/", client: {}, **options)
      settings = Trunkline::Options.defaults.merge(timeout: 5, **client)
      Trunkline::RequestBuilder.new(settings, nil, 1).build("POST", url, options, :buffered)
    end

    def refused
      yield
      nil
    rescue Trunkline::InvalidRequest => error
      error.message
    end

    def parameters(hash) = ActionController::Parameters.new(hash)
  RUBY

  # @param code [String] code that returns a Hash, which is transferred as JSON
  def results(code)
    ran = Subprocess.run("#{PRELUDE}puts JSON.generate(begin\n#{code}\nend)", gems: nil)
    assert_predicate ran.status, :success?, ran.err
    JSON.parse(ran.out)
  end

  def test_a_duration_is_accepted_wherever_seconds_are
    values = results(<<~RUBY)
      options = Trunkline::Options.defaults.merge(
        timeout: { connect: 1.5.seconds, total: 2.minutes }, idle_timeout: 1.minute, max_age: 1.hour, expect: 2.seconds,
        tcp_keepalive: { idle: 1.minute, interval: 5.seconds }, tcp_user_timeout: 3.seconds, busy_poll: 0.0005.seconds
      )
      {
        timeouts: [options.timeout.connect, options.timeout.total], whole: options.merge(timeout: 5.seconds).timeout.total,
        others: [options.idle_timeout, options.max_age, options.expect, options.tcp_user_timeout, options.busy_poll],
        keepalive: options.tcp_keepalive.values, idle: options.merge(tcp_keepalive: 1.minute).tcp_keepalive[:idle],
        refused: refused { options.merge(timeout: -1.seconds) }
      }
    RUBY
    assert_equal [[1.5, 120.0], 5.0], values.values_at("timeouts", "whole")
    assert_equal [60.0, 3600.0, { "wait" => 2.0, "above" => 0 }, 3000, 0.0005], values["others"]
    assert_equal [[60, 5], 60], values.values_at("keepalive", "idle")
    assert_match(/\Atimeout: /, values["refused"])
  end

  def test_permitted_parameters_are_accepted
    values = results(<<~RUBY)
      given = parameters(a: "1", b: { c: ["2"] }, "d" => "secret")
      permitted = given.permit(:a, b: { c: [] })
      {
        params: build(params: permitted).uri.query, nested: build(params: { f: permitted }).uri.query,
        client: build(client: { params: permitted }, params: { a: 3 }).uri.query,
        form: build(form: permitted).body,
        refused: [refused { build(params: given) }, refused { build(form: { x: given }) },
                  refused { build(client: { params: given }) }]
      }
    RUBY
    assert_equal "a=1&b%5Bc%5D%5B%5D=2", values["params"]
    assert_equal values["params"], values["form"]
    assert_equal "f%5Ba%5D=1&f%5Bb%5D%5Bc%5D%5B%5D=2", values["nested"]
    assert_equal "a=3&b%5Bc%5D%5B%5D=2", values["client"]
    values["refused"].each { |message| assert_match(/must be permitted parameters: params\.permit/, message) }
    refute_match(/secret/, values.to_s)
  end

  def test_an_addressable_uri_is_accepted_as_url_and_proxy
    values = results(<<~RUBY)
      uri = Addressable::URI.parse("http://b.test:81/x?y=1")
      {
        url: build(uri).url, base: Trunkline.new(uri, timeout: 1).inspect,
        proxy: Trunkline::Options.check(:proxy, Addressable::URI.parse("http://p.test:3128")).to_s
      }
    RUBY
    assert_equal ["http://b.test:81/x?y=1", "http://p.test:3128"], values.values_at("url", "proxy")
    assert_includes values["base"], "b.test:81"
  end

  def test_json_has_the_forms_of_active_support
    values = results(<<~RUBY)
      Point = Struct.new(:x)
      value = { at: Time.utc(2026, 1, 2, 3, 4, 5), zone: Time.utc(2026).in_time_zone("Berlin"), point: [Point.new(1)],
                price: BigDecimal("1.5"), nan: Float::NAN, safe: "<b>".html_safe, span: 5.seconds, set: Set[1],
                indifferent: { a: 1 }.with_indifferent_access, permitted: parameters(a: Date.new(2026)).permit(:a) }
      {
        same: value.to_h { |name, one| [name, build(json: { v: one }).body] },
        theirs: value.to_h { |name, one| [name, ActiveSupport::JSON.encode({ v: one })] },
        copy: Trunkline::JSONEncoding.generate_copy(value) == build(json: value).body,
        refused: refused { build(json: [parameters(a: "secret")]) },
        ours: refused { build(json: [Trunkline.new(timeout: 5)]) },
        shown: [Trunkline.new("http://a.test", timeout: 5, bearer: "secret"), build(params: { token: "secret" })].to_json
      }
    RUBY
    assert_match(/got an instance of Trunkline::Client/, values["ours"])
    refute_match(/secret/, values["shown"])
    assert_match(/Trunkline::Client http.*Trunkline::Request POST/, values["shown"])
    plain = ->(texts) { texts.transform_values { |text| JSON.parse(text) } }
    assert_equal plain.call(values["theirs"]), plain.call(values["same"])
    assert_equal '{"v":"2026-01-02T03:04:05.000Z"}', values["same"]["at"]
    assert values["copy"]
    assert_match(/permit/, values["refused"])
    refute_match(/secret/, values["refused"])
  end

  UPLOADS = <<~RUBY
    require "rack"
    require "rack/test"
    require "tempfile"
    file = Tempfile.new(["RackMultipart", ".bin"])
    file.write("PNG")
    file.flush
    rails = lambda do
      file.rewind
      ActionDispatch::Http::UploadedFile.new(tempfile: file, filename: "sea.png", type: "image/png")
    end
    test = Rack::Test::UploadedFile.new(StringIO.new("PNG"), "image/png", original_filename: "sea.png")
    sent = lambda do |content|
      body = build(**content).content
      text = +""
      while (chunk = body.next_chunk)
        text << chunk
      end
      text
    end
    parsed = lambda do |form|
      type = "multipart/form-data; boundary=" + form[/\\A--(.*?)\\r/, 1]
      Rack::Multipart.parse_multipart("CONTENT_TYPE" => type, "CONTENT_LENGTH" => form.bytesize.to_s,
                                      "rack.input" => StringIO.new(form))
    end
  RUBY

  def test_uploads_of_rails_and_rack_are_sent_with_their_names
    values = results(<<~RUBY)
      #{UPLOADS}
      form = sent.call(multipart: { "doc" => rails.call })
      {
        rails: form, rack: sent.call(multipart: { "doc" => parsed.call(form)["doc"] }),
        permitted: sent.call(multipart: parameters(doc: rails.call).permit(:doc)),
        test: sent.call(multipart: { "doc" => test }), body: sent.call(body: rails.call)
      }
    RUBY
    assert_equal "PNG", values.delete("body")
    expected = "filename=\"sea.png\"\r\nContent-Type: image/png\r\n\r\nPNG\r\n--"
    values.each { |name, form| assert_includes form, expected, name }
  end
end
