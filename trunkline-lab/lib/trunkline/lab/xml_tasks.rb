# frozen_string_literal: true

require "digest"
require_relative "clock"

module Trunkline
  module Lab
    # Renders a small and a long document by one of the XML builders.
    class XMLTasks
      RECORDS = Array.new(250) do |number|
        { number: number.to_s, name: "Record #{number}", email: "user#{number}@example.test",
          note: "Fish & <chips> no. #{number}, \"to go\"", city: "Zürich", status: number.even? ? "active" : "closed" }
      end.freeze
      SIZES = { "small" => RECORDS.first(1), "long" => RECORDS }.freeze
      FIELDS = %i[name email note city status].freeze
      BATCH = 5

      # @param renderer [String] a name of XMLRenderers
      # @param options [Hash] options of the renderer
      def self.of(renderer, **options)
        require_relative "xml_renderers"
        new(XMLRenderers.named(renderer, **options))
      end

      # @param renderer [#call] takes records and returns the document
      def initialize(renderer) = @renderer = renderer

      # Ignores the declaration, the white space between tags, and the quoting of text, in which builders may differ.
      # @return [String] a digest of the document
      def self.digest(text)
        plain = text.dup.force_encoding(Encoding::UTF_8)
        plain = plain.sub(/\A<\?xml.*?\?>\s*/m, "").gsub(/>\s+</, "><").gsub("&quot;", "\"").strip
        Digest::SHA256.hexdigest(plain)
      end

      def document(size:)
        text = @renderer.call(SIZES.fetch(size))
        { digest: self.class.digest(text), bytes: text.bytesize }
      end

      # @return [Hash] requests and cpu, and the counts of documents by microseconds
      def render(size:, seconds:)
        records = SIZES.fetch(size)
        counts = Hash.new(0)
        deadline = Clock.now + seconds
        usage = Clock.measure do
          while Clock.now < deadline
            BATCH.times do
              started = Clock.now
              @renderer.call(records)
              counts[((Clock.now - started) * 1e6).round] += 1
            end
          end
          counts.each_value.sum
        end
        usage.merge(latency: counts)
      end

      def versions(names:)
        names.to_h { |name| [name, Gem.loaded_specs[name]&.version.to_s] }
      end
    end
  end
end
