# frozen_string_literal: true

module Trunkline
  module XML
    module Rails
      # Requiring "trunkline/xml/rails" changes the following parts of an application. Each part has a switch, set in
      # config/application.rb: `config.trunkline_xml.drop_in = false`.
      #
      # - templates (true): `.builder` templates are rendered by {Handler}
      # - drop_in (true): Builder::XmlMarkup is this library's, also in gems
      # - to_xml (true): {ToXml} writes Hash#to_xml and Array#to_xml
      # - strict (false): every builder is a {Strict} one
      class Railtie < ::Rails::Railtie
        config.trunkline_xml = ActiveSupport::OrderedOptions.new
        config.trunkline_xml.templates = true
        config.trunkline_xml.drop_in = true
        config.trunkline_xml.to_xml = true
        config.trunkline_xml.strict = false

        initializer "trunkline_xml" do |app|
          switches = app.config.trunkline_xml # read by key, because to_xml is a method of every Hash
          XML.strict = switches[:strict]
          require "trunkline/xml/drop_in" if switches[:drop_in]
          require "trunkline/xml/to_xml" if switches[:to_xml]
          ActiveSupport.on_load(:action_view) { Rails.handle_templates } if switches[:templates]
        end
      end
    end
  end
end
