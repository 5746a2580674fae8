# frozen_string_literal: true

require_relative "test_helper"

# A Rails application in a separate process, configured by the railtie's settings.
class TestRailtie < Minitest::Test
  include Child

  APPLICATION = <<~'RUBY'
    ENV["RAILS_ENV"] = "production"
    require "action_controller/railtie"
    require "action_view/railtie"
    require "rack/mock"
    require "trunkline/xml/rails"
    class Application < Rails::Application
      config.load_defaults 7.1
      config.logger = Logger.new(nil)
      config.secret_key_base = "test"
      config.hosts.clear
      SWITCHES.each { |name, value| config.trunkline_xml.public_send("#{name}=", value) }
    end
    class PagesController < ActionController::Base
      def show = render(inline: "xml.instruct!; xml.page { xml.title 'a & b' }", type: :builder)
      def hash = render(xml: { title: "a & b", count: 1 })
      def stream
        headers["content-type"] = "application/xml"
        self.response_body = Trunkline::XML::Stream.new { |xml| xml.rows { 300.times { |n| xml.row n } } }
      end
    end
    Application.initialize!
    Application.routes.draw { %w[show hash stream].each { |action| get action, to: "pages##{action}" } }
    # loaded
    responses = %w[show hash stream].map { |path| Rack::MockRequest.new(Application).get("/#{path}") }
    handler = ActionView::Template.registered_template_handler(:builder)
    print Marshal.dump(responses.map { |response| [response.status, response.content_type, response.body] } <<
                       [handler.class.name, Builder::XmlMarkup.name, Hash.instance_method(:to_xml).owner.name,
                        Trunkline::XML.strict?])
  RUBY

  def test_everything_is_on_at_first
    show, hash, stream, state = boot({})
    document = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<page>\n  <title>a &amp; b</title>\n</page>\n"
    assert_equal [200, document], show.values_at(0, 2)
    assert_includes hash.last, "<title>a &amp; b</title>\n  <count type=\"integer\">1</count>"
    assert_equal 300, stream.last.scan("<row>").size
    assert_equal ["Trunkline::XML::Rails::Handler", "Trunkline::XML::Builder",
                  "Trunkline::XML::ToXml::CoreExtension", false],
                 state
  end

  def test_parts_can_be_left_out
    show, _hash, _stream, state = boot(templates: false, drop_in: false, to_xml: false, strict: true)
    assert_equal 200, show.first
    assert_equal ["ActionView::Template::Handlers::Builder", "Builder::XmlMarkup", "Hash", true], state
  end

  private

  def boot(switches)
    code = "SWITCHES = #{switches.inspect}\n#{APPLICATION.sub("# loaded") { STRESS }}"
    Marshal.load(ruby("-W0", "-e", code)) # rubocop:disable Security/MarshalLoad
  end
end
