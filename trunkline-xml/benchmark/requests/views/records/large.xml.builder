xml.instruct!
xml.records(type: "array", total: records.size) do
  records.each do |record|
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
