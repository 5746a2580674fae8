# frozen_string_literal: true

# The documents that are rendered: a list of records of about 54 KB and one record of about 216 bytes, with the names,
# texts, numbers and attributes that such documents have. Each is written for each builder's own interface.
module Documents
  Record = Struct.new(:id, :title, :author, :body, :price, :stock, :created_at, :url, keyword_init: true)

  WORDS = %w[order invoice customer shipped pending summary weekly report market garden copper silver paper
             window].freeze

  RECORDS = Array.new(119) do |index|
    words = Array.new(12) { |place| WORDS[(index * 7 + place * 5) % WORDS.size] }
    Record.new(id: 1000 + index, title: words.first(4).join(" ").capitalize, author: "O'Neill & #{words[5].capitalize}",
               body: "#{words.join(" ")} < #{index} > caf\u00e9", price: 9.95 + index, stock: index * 3,
               created_at: format("2026-03-%<day>02dT09:58:18Z", day: index % 28 + 1),
               url: "https://example.com/records/#{1000 + index}?page=#{index}&lang=en").freeze
  end.freeze

  # For Nokogiri's builder, which writes the declaration by itself.
  module ForNokogiri
    module_function

    def large(xml)
      xml.records(type: "array", total: RECORDS.size) do
        RECORDS.each do |record|
          xml.record(id: record.id) do
            xml.title record.title
            xml.author record.author
            xml.body record.body, lang: "en"
            xml.price record.price, currency: "EUR"
            xml.stock record.stock, type: "integer"
            xml.created_at record.created_at
            xml.link href: record.url
          end
        end
      end
    end

    def small(xml)
      record = RECORDS.first
      xml.record(id: record.id) do
        xml.title record.title
        xml.author record.author
        xml.price record.price, currency: "EUR"
        xml.stock record.stock
      end
    end
  end

  # For builders with Builder's interface, which write the declaration when they are told to.
  module ForBuilder
    module_function

    def large(xml)
      xml.instruct!
      ForNokogiri.large(xml)
    end

    def small(xml)
      xml.instruct!
      ForNokogiri.small(xml)
    end
  end

  # Ox takes Strings only, and writes a text by a call of its own.
  module ForOx
    module_function

    def large(xml)
      xml.instruct(:xml, version: "1.0", encoding: "UTF-8")
      xml.element("records", type: "array", total: RECORDS.size.to_s)
      RECORDS.each do |record|
        xml.element("record", id: record.id.to_s)
        text(xml, "title", record.title)
        text(xml, "author", record.author)
        text(xml, "body", record.body, lang: "en")
        text(xml, "price", record.price.to_s, currency: "EUR")
        text(xml, "stock", record.stock.to_s, type: "integer")
        text(xml, "created_at", record.created_at)
        xml.element("link", href: record.url)
        xml.pop
        xml.pop
      end
      xml.pop
    end

    def small(xml)
      record = RECORDS.first
      xml.instruct(:xml, version: "1.0", encoding: "UTF-8")
      xml.element("record", id: record.id.to_s)
      text(xml, "title", record.title)
      text(xml, "author", record.author)
      text(xml, "price", record.price.to_s, currency: "EUR")
      text(xml, "stock", record.stock.to_s)
      xml.pop
    end

    def text(xml, name, text, attributes = nil)
      attributes ? xml.element(name, attributes) : xml.element(name)
      xml.text(text)
      xml.pop
    end
  end
end
