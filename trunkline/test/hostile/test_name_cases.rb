# frozen_string_literal: true

require "json"
require_relative "../test_helper"
require_relative "../support/own_names"
require_relative "name_cases"

# Each case of a bad name server ends as the table says, and the next call of the same client is answered.
class TestHostileNameCases < TrunklineTest
  # A name server over UDP, and over TCP for what has no room in a datagram.
  NAME_SERVER = <<~'RUBY'
    def dns(query, records)
      return records if records.nil? || records.is_a?(String)

      id = query[0, 2]
      id = [id.unpack1("n") ^ 1].pack("n") if records == :another
      records = [[1, [127, 0, 0, 1].pack("C4")]] if records == :another
      stop = query.index("\0", 12) + 5 # the name's end, type and class
      question = query[12...stop]
      records = records.select { |type, _| type == question[-4, 2].unpack1("n") }
      body = records.map { |type, bytes| [0xC00C, type, 1, 60, bytes.bytesize].pack("nnnNn") + bytes.b }.join
      id + [0x8180, 1, records.size, 0, 0].pack("n5") + question + body
    end
    truncated = ->(reply) { reply[0, 2] + [0x8380, 1, 0, 0, 0].pack("n5") + reply[12...reply.index("\0", 12) + 5] }
    Thread.new do
      loop do
        query, (_, from, _, host) = server.recvfrom(4096)
        reply = dns(query, SCRIPT.call) or next
        server.send(reply.bytesize > 512 ? truncated.call(reply) : reply, 0, host, from)
      end
    end
    over_tcp = TCPServer.new("127.0.0.1", 53)
    Thread.new do
      loop do
        Thread.new(over_tcp.accept) do |socket|
          while (size = socket.read(2)&.unpack1("n"))
            reply = dns(socket.read(size), SCRIPT.call)
            socket.write([reply.bytesize].pack("n") + reply)
          end
          socket.close
        end
      end
    end
  RUBY

  CALL = <<~RUBY
    Thread.report_on_exception = true
    port = answer_for_ever("127.0.0.1", "good")
    client = Trunkline.new(timeout: 8)
    start = now
    result = client.get("http://bad.test:\#{port}/", **OPTIONS) rescue result = $!
    puts result.class, client.get("http://localhost:\#{port}/").body, now - start, result.message[0, 200]
  RUBY

  def setup
    skip "namespaces (unshare, ip) are not to be had here" unless OwnNames.available?
    super
  end

  HostileNames::ALL.each do |name, row|
    define_method(:"test_#{name}") do
      setting = "SCRIPT = -> { #{row.script} }\nOPTIONS = #{row.options.to_h.inspect}\n"
      result = OwnNames.run(setting + NAME_SERVER + CALL)
      *seen, seconds, message = result.out.lines.map(&:chomp)
      assert_equal ["Trunkline::#{row.expected}", "good"], seen, result.out + result.err
      assert_operator seconds.to_f, :<, 8
      assert_match(/127\.1\.\d/, message) if name == :thousand_addresses
    end
  end
end
