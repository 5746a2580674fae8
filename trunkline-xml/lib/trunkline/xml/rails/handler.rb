# frozen_string_literal: true

module Trunkline
  module XML
    module Rails
      # The template handler for `.builder`: as Rails' own, with a builder that writes straight into the String of the
      # output buffer, whichever it is at that moment (capture, content_for and caching exchange it).
      class Handler
        # @return [Symbol] the format of a template that names none
        def default_format
          :xml
        end

        # A `.builder` layout can be sent while its template is rendered.
        def supports_streaming?
          true
        end

        # @return [String] Ruby; the template's lines keep their numbers, and a comment on the last one ends there
        def call(_template, source)
          "xml = xml = ::Trunkline::XML::Builder.new(indent: 2, " \
            "target: (xml_target = ::Trunkline::XML::Rails::Streaming.target(output_buffer)));" \
            "#{TemplateCompiler.compile(source)}\n;" \
            "::Trunkline::XML::Rails::Streaming.finish(xml_target); output_buffer.to_s"
        end
      end
    end
  end
end
