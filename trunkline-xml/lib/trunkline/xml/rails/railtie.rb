# frozen_string_literal: true

module Trunkline
  module XML
    module Rails
      # What requiring "trunkline/xml/rails" changes in an application; each part has a switch, set in
      # config/application.rb: `config.trunkline_xml.drop_in = false`.
      #
      # - templates (true): `.builder` templates are rendered by {Handler}
      # - drop_in (true): Builder::XmlMarkup is ours, for gems
      # - to_xml (true): Hash#to_xml and Array#to_xml without detours
      # - strict (false): every builder is a {Strict} one
      class Railtie < ::Rails::Railtie
        config.trunkline_xml = ActiveSupport::OrderedOptions.new
        config.trunkline_xml.templates = true
        config.trunkline_xml.drop_in = true
        config.trunkline_xml.to_xml = true
        config.trunkline_xml.strict = false

        initializer "trunkline_xml" do |app|
          switches = app.config.trunkline_xml # by key: to_xml is a method of every Hash
          XML.strict = switches[:strict]
          require "trunkline/xml/drop_in" if switches[:drop_in]
          require "trunkline/xml/to_xml" if switches[:to_xml]
          ActiveSupport.on_load(:action_view) { Rails.handle_templates } if switches[:templates]
        end
      end
    end
  end
end
