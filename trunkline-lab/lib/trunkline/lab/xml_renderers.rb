# frozen_string_literal: true

require_relative "xml_tasks"

module Trunkline
  module Lab
    # The same document for each builder, written in the way that its users write.
    module XMLRenderers
      GEMS = {
        "trunkline" => ["Trunkline::XML", {}],
        "builder" => ["Builder", { "builder" => "~> 3.3" }],
        "nokogiri" => ["Nokogiri",
                       { "nokogiri" => Gem.rubygems_version < Gem::Version.new("3.3.22") ? "< 1.18" : ">= 1.18" }],
        "ox" => ["Ox", { "ox" => "~> 2.14" }]
      }.freeze

      # Title of the column with the speed relative to Builder.
      AGAINST = "against Builder"

      module_function

      # @return [String, nil] why the renderer is not available
      def missing(name)
        return unless name == "trunkline" && Bundle.load_paths("trunkline-xml").empty?

        "not installed (gem install trunkline-xml)"
      end

      # @param name [String] in GEMS; or "nothing", with library: as the path of its extension
      def named(name, library: nil)
        case name
        when "trunkline" then trunkline
        when "builder" then builder
        when "nokogiri" then nokogiri
        when "ox" then ox
        when "nothing" then nothing(library)
        end
      end

      def trunkline
        require "trunkline/xml"
        ->(records) { fill(Trunkline::XML::Builder.new(indent: 2), records).target! }
      end

      def builder
        require "builder"
        ->(records) { fill(Builder::XmlMarkup.new(indent: 2), records).target! }
      end

      def nokogiri
        require "nokogiri"
        ->(records) { Nokogiri::XML::Builder.new(encoding: "UTF-8") { |xml| body(xml, records) }.to_xml }
      end

      def ox
        require "ox"
        lambda do |records|
          xml = Ox::Builder.new(indent: 2)
          xml.instruct(:xml, version: "1.0", encoding: "UTF-8")
          ox_body(xml, records)
          xml.close
          xml.to_s
        end
      end

      # Measures the calls of the builder's methods alone.
      def nothing(library)
        require library
        lambda do |records|
          body(NullBuilder.new, records)
          ""
        end
      end

      def fill(xml, records)
        xml.instruct!
        body(xml, records)
        xml
      end

      def body(xml, records)
        xml.records do
          records.each do |record|
            xml.record(number: record[:number]) do
              xml.name(record[:name])
              xml.email(record[:email])
              xml.note(record[:note])
              xml.city(record[:city])
              xml.status(record[:status])
            end
          end
        end
      end

      def ox_body(xml, records)
        xml.element("records") do
          records.each do |record|
            xml.element("record", number: record[:number]) do
              XMLTasks::FIELDS.each { |name| xml.element(name.name) { xml.text(record[name]) } }
            end
          end
        end
      end
    end
  end
end
