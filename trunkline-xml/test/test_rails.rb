# frozen_string_literal: true

require_relative "test_helper"
require "active_support/all"
require "action_view"
require "action_view/testing/resolvers"
require "trunkline/xml/rails"
require "trunkline/xml/drop_in"
Trunkline::XML::DropIn.undo
ActionView.eager_load! # here, so that it does not happen in a test under stress

# Templates must give the same output by our handler and by Rails' own.
class TestRails < Minitest::Test
  OURS = Trunkline::XML::Rails::Handler.new
  RAILS = ActionView::Template::Handlers::Builder.new

  TEMPLATES = {
    "t/plain.xml.builder" => "xml.instruct!\nxml.a(b: 1) { xml.c \"text & more\"; xml << '<raw/>' }",
    "t/comment.xml.builder" => "xml.a\n# the end",
    "t/partial.xml.builder" => "xml.list do\n  2.times { |n| xml << render(partial: \"t/item\", locals: {n: n}) }\nend",
    "t/_item.xml.builder" => "xml.item n",
    "t/content.xml.builder" => "content_for(:side) { xml.side \"aside\" }\nxml.main \"body\"",
    "t/capture.xml.builder" => "inside = capture { xml.inner \"é\" }\nxml.outer { xml << inside << inside }",
    "t/odd.xml.builder" => "xml << nil\nxml << 65\nxml.a :b\nxml.c \"x\".html_safe",
    "t/latin.xml.builder" => "xml.instruct! :xml, encoding: \"ISO-8859-1\"\nxml.a \"plain\"",
    "t/feed.xml.builder" => <<~RUBY,
      atom_feed(id: "tag:x", url: "http://x/feed", root_url: "http://x/") do |feed|
        feed.title "My & feed"
        feed.updated Time.utc(2026, 3, 1)
        feed.entry(Struct.new(:id).new(7), id: "e7", url: "http://x/7", published: Time.utc(2026), updated: Time.utc(2026)) do |entry|
          entry.title "Entry"
          entry.content "<b>html</b>", type: "html"
          entry.summary(type: "xhtml") { |xhtml| xhtml.p "para" }
        end
      end
    RUBY
    "t/error.xml.builder" => "xml.a \"1\"\nxml.b \"2\"\nxml.c { raise \"in the third line\" }",
    "layouts/wrap.xml.builder" => "xml.layout do\n  xml << yield\n  xml << content_for(:side).to_s\nend"
  }.freeze

  def setup
    @handlers = ActionView::Template.registered_template_handler(:builder)
  end

  def teardown
    ActionView::Template.register_template_handler(:builder, @handlers)
  end

  TEMPLATES.keys.grep_v(%r{/_|layouts|error|comment}).each do |path|
    name = path[%r{/(\w+)\.}, 1]
    [nil, "layouts/wrap"].each do |layout|
      define_method("test_same_as_rails_when_template_is_#{name}#{"_with_layout" if layout}") do
        assert_equal(*[RAILS, OURS].map { |handler| render(handler, "t/#{name}", layout: layout, formats: [:xml]) })
      end
    end
  end

  def test_builder_is_the_one_in_c_and_writes_to_the_buffer
    Trunkline::XML::Rails.handle_templates
    assert Trunkline::XML.native? unless ENV["TRUNKLINE_XML"] == "ruby" || RUBY_ENGINE != "ruby"
    result = view.render(inline: "xml.a { xml.b output_buffer.raw_buffer.bytesize }", type: :builder)
    assert_equal "<a>\n  <b>4</b>\n</a>\n", result
  end

  def test_template_may_end_in_a_comment
    assert_equal "<a/>\n", render(OURS, "t/comment", layout: nil, formats: [:xml])
  end

  def test_error_names_the_line
    error = assert_raises(ActionView::Template::Error) { render(OURS, "t/error", layout: nil, formats: [:xml]) }
    assert_equal "3", error.line_number
  end

  def test_fragment_caching
    view = view(OURS)
    store = ActiveSupport::Cache::MemoryStore.new
    controller = Struct.new(:store, :perform_caching) do
      def read_fragment(key, _options = nil) = store.read(key)
      def write_fragment(key, value, _options = nil) = value.tap { store.write(key, value.to_str) }
      def instrument_fragment_cache(*) = yield
      def combined_fragment_cache_key(key) = key
    end.new(store, true)
    view.define_singleton_method(:controller) { controller }
    template = "xml.a { cache(\"key\", skip_digest: true) { xml.b \"cached\" } }"
    first, second = Array.new(2) { view.render(inline: template, type: :builder) }
    assert_equal first, second
    assert_equal "<a>\n  <b>cached</b>\n</a>\n", first
  end

  def test_layout_is_streamed_in_chunks
    chunks = stream("layouts/long" => "xml.layout { 300.times { |n| xml.row \"x\" * 200 }; xml << yield }",
                    "t/inside" => "xml.inside")
    document = chunks.join
    assert_operator chunks.size, :<, 10
    assert document.start_with?("<layout>\n  <row>xxx")
    assert_includes document, "<inside/>"
    assert document.end_with?("</layout>\n")
  end

  def test_capture_in_a_streamed_layout_keeps_its_place
    layout = "xml.layout { one = capture { xml.captured }; xml.before; xml << one; xml << yield }"
    chunks = stream("layouts/long" => layout,
                    "t/inside" => "xml.inside")
    assert_equal %w[layout before captured inside], chunks.join.scan(/<(\w+)/).flatten
  end

  private

  def view(handler = nil, templates = TEMPLATES)
    ActionView::Template.register_template_handler(:builder, handler) if handler
    resolver = ActionView::FixtureResolver.new(templates)
    lookup = ActionView::LookupContext.new([resolver])
    ActionView::LookupContext::DetailsKey.clear
    ActionView::Base.with_empty_template_cache.new(lookup, {}, nil).tap do |view|
      request = Struct.new(:host, :fullpath, :url, :protocol, :host_with_port).new("x", "/f.atom", "http://x/f",
                                                                                   "http://", "x")
      view.define_singleton_method(:request) { request }
    end
  end

  def render(handler, template, layout:, formats:)
    view = view(handler)
    view.lookup_context.formats = formats
    renderer = ActionView::Renderer.new(view.lookup_context)
    renderer.render(view, { template: template, layout: layout, formats: formats }.compact).to_s
  end

  def stream(templates)
    view = view(OURS, templates.transform_keys { |path| "#{path}.xml.builder" })
    view.lookup_context.formats = [:xml]
    renderer = ActionView::StreamingTemplateRenderer.new(view.lookup_context)
    body = renderer.render(view, { template: "t/inside", layout: "layouts/long" })
    body.to_enum(:each).map(&:dup)
  end
end
