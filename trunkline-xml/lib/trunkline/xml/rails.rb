# frozen_string_literal: true

require "trunkline/xml"
require "trunkline/xml/stream"
require "trunkline/xml/rails/streaming"
require "trunkline/xml/rails/template_compiler"
require "trunkline/xml/rails/handler"
require "trunkline/xml/rails/railtie" if defined?(Rails::Railtie)

module Trunkline
  module XML
    # For a Rails application: `gem "trunkline-xml", require: "trunkline/xml/rails"`. Templates, `to_xml` and all users
    # of Builder::XmlMarkup then write with this library. {Railtie} has a switch for each part.
    module Rails
      module_function

      # Registers the handler for `.builder` templates.
      # @api private
      def handle_templates
        # The class is taken from a buffer, because its constant is not loaded by its name.
        XML.output_buffer_class = ActionView::OutputBuffer.new.raw.class
        ActionView::Template.register_template_handler(:builder, Handler.new.freeze)
      end
    end
  end
end
