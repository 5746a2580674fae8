xml.element("records") do
  records.each do |record|
    xml.element("record", number: record[:number]) do
      xml.element("name") { xml.text(record[:name]) }
      xml.element("email") { xml.text(record[:email]) }
      xml.element("note") { xml.text(record[:note]) }
      xml.element("city") { xml.text(record[:city]) }
      xml.element("status") { xml.text(record[:status]) }
    end
  end
end
