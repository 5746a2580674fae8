# frozen_string_literal: true

require "action_view"
require "trunkline/xml/rails"

# The long template through ActionView, by Rails' own handler and by ours.
module Templates
  VIEWS = File.expand_path("../requests/views", __dir__)

  module_function

  def run(report)
    Trunkline::XML::Rails.handle_templates
    ways = { "rails" => ActionView::Template::Handlers::Builder.new, "ours" => Trunkline::XML::Rails::Handler.new }
      .transform_values { |handler| rendering(handler) }
    abort "the template's output is not the same" unless ways["rails"].call == ways["ours"].call

    results = Measure.run(ways)
    report.figure(".builder template of 54 KB through ActionView", results["rails"].ratio_to(results["ours"]), "x",
                  bar: 10)
  end

  def rendering(handler)
    ActionView::Template.register_template_handler(:builder, handler)
    ActionView::LookupContext::DetailsKey.clear
    lookup = ActionView::LookupContext.new([VIEWS])
    view = ActionView::Base.with_empty_template_cache.new(lookup, {}, nil)
    render = -> { view.render(template: "records/large", formats: [:xml], locals: { records: Documents::RECORDS }) }
    render.call # compiles it, with the handler that is registered now
    render
  end
end
