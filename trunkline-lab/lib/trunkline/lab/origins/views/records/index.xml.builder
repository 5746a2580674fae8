xml.instruct!
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
