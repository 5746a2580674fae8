# frozen_string_literal: true

require "trunkline"

# The client that h2spec's client mode calls with a URL. What a server sends behind an answer is read by the next call.
# h2specd waits 1 s for what it wants, so a client that gives up later has not ended its connection for that; and it
# must have ended within 3 s.
client = Trunkline.new(http: :h2, timeout: 1.8)
begin
  2.times { client.get(ARGV.fetch(0)) }
rescue Trunkline::Error
  nil # h2spec judges by what it was sent
end
client.close
