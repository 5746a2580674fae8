# frozen_string_literal: true

module Trunkline
  module XML
    module Rails
      # The template handler for `.builder`: like Rails' own, but its builder writes directly to the String of the
      # current output buffer (capture, content_for and caching exchange it).
      class Handler
        # @return [Symbol] the format of a template whose name contains none
        def default_format
          :xml
        end

        # A `.builder` layout can be sent while its template is rendered.
        def supports_streaming?
          true
        end

        # @return [String] Ruby code; the template's line numbers are kept, and a newline ends a comment in its last
        #   line
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
