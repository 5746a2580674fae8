record = records.first
xml.instruct!
xml.record(id: record.id) do
  xml.title record.title
  xml.author record.author
  xml.price record.price, currency: "EUR"
  xml.stock record.stock
end
