# frozen_string_literal: true

require_relative "test_reuse_in_batches"
require_relative "../support/over_tls"

# Runs the same tests over TLS, where OpenSSL may hold data that the socket no longer has.
class TestReuseInBatchesOverTLS < TestReuseInBatches
  include OverTLS

  # One record contains the response and an unsolicited byte: the socket has no further data.
  def test_a_response_and_an_extra_byte_in_one_record
    server = serve do |connection|
      if (request = connection.read_request)
        connection << "#{self.class.response_with(request.target)}!"
        connection.stall
      end
    end
    bodies = []
    client(server.url).batch(concurrency: 1) do |batch|
      3.times { |number| batch.get("/#{number}") { |result| bodies << result.body } }
    end
    assert_equal [%w[/0 /1 /2], 3], [bodies, server.connection_count]
  end

  # The second record arrives with the first, and is read from the socket together with it.
  def test_a_response_and_an_extra_byte_in_the_next_record
    server = serve do |connection|
      while (request = connection.read_request)
        connection << self.class.response_with(request.target)
        connection << "!" if request.target == "/spoil"
      end
    end
    bodies = []
    client(server.url).batch(concurrency: 1) do |batch|
      batch.get("/first") do |first|
        bodies << first.body
        batch.get("/spoil") do |second|
          bodies << second.body
          sleep 0.05
          batch.get("/last") { |last| bodies << last.body }
        end
      end
    end
    assert_equal [%w[/first /spoil /last], 2], [bodies, server.connection_count]
  end
end
