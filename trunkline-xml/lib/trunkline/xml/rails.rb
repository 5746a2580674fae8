# frozen_string_literal: true

require "trunkline/xml"
require "trunkline/xml/stream"
require "trunkline/xml/rails/streaming"
require "trunkline/xml/rails/template_compiler"
require "trunkline/xml/rails/handler"
require "trunkline/xml/rails/railtie" if defined?(Rails::Railtie)

module Trunkline
  module XML
    # For a Rails application: `gem "trunkline-xml", require: "trunkline/xml/rails"`. Templates, `to_xml` and whoever
    # uses Builder::XmlMarkup then write through this library; {Railtie} says how to leave parts out.
    module Rails
      module_function

      # Serves `.builder` templates.
      # @api private
      def handle_templates
        # Asked for by way of a buffer: the constant is not loaded by its name.
        XML.output_buffer_class = ActionView::OutputBuffer.new.raw.class
        ActionView::Template.register_template_handler(:builder, Handler.new.freeze)
      end
    end
  end
end
