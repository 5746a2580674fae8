# frozen_string_literal: true

require "json"
require "socket"

# The network between the client and the origin, in a separate process: it cuts, delays, resets, truncates and holds
# connections, by random numbers of a seed.
#
#   ruby network.rb SEED PORTS_FILE OUR_PORTS_FILE
#
# PORTS_FILE contains the origin's current ports, which change when the origin is restarted.
class ChaosNetwork
  PIECE = 16_384
  LINGER = Socket::Option.linger(true, 0) # closing sends RST

  # The treatments of a connection, each with its probability in percent.
  FATES = { pass: 62, cut: 9, cut_request: 6, reset: 8, delay: 9, refuse: 3, hold: 3 }.freeze

  def initialize(seed, ports)
    @random = Random.new(seed)
    @ports = ports
    @lock = Mutex.new
  end

  # @return [Hash{String => Integer}] the network's ports, by the names of the origin's ports
  def listen
    JSON.parse(File.read(@ports)).keys.to_h do |name|
      server = TCPServer.new("127.0.0.1", 0)
      Thread.new { loop { relay(server.accept, name) } }
      [name, server.addr[1]]
    end
  end

  private

  # The random numbers are drawn in the accepting thread, so that the order of the other threads does not change them.
  def relay(client, name)
    fate, after, pause = @lock.synchronize { [draw, @random.rand(60_000), @random.rand(0.03)] }
    Thread.new { run(client, name, fate, after, pause) }
  end

  def draw
    left = @random.rand(100)
    FATES.find { |_, share| (left -= share).negative? }.first
  end

  def run(client, name, fate, after, pause)
    return client.close if fate == :refuse

    origin = TCPSocket.new("127.0.0.1", JSON.parse(File.read(@ports)).fetch(name))
    upstream = Thread.new { pump(client, origin, (after / 10 if fate == :cut_request), 0) }
    pump(origin, client, (after if %i[cut reset hold].include?(fate)), fate == :delay ? pause : 0)
    sleep(3) if fate == :hold
    client.setsockopt(LINGER) if fate == :reset
  rescue SystemCallError, IOError
    nil
  ensure
    [client, origin].compact.each(&:close)
    upstream&.join
  end

  # @param most [Integer, nil] the number of bytes to forward at most
  def pump(from, to, most, pause)
    forwarded = 0
    loop do
      bytes = from.readpartial(PIECE)
      bytes = bytes.byteslice(0, most - forwarded) if most && forwarded + bytes.bytesize > most
      sleep(pause) if pause.positive?
      to.write(bytes)
      forwarded += bytes.bytesize
      break if most && forwarded >= most
    end
  rescue SystemCallError, IOError
    nil
  ensure
    begin
      to.close_write
    rescue SystemCallError, IOError
      nil
    end
  end
end

if $PROGRAM_NAME == __FILE__
  seed, ports, ours = ARGV
  Thread.report_on_exception = false
  written = "#{ours}.new"
  File.write(written, JSON.generate(ChaosNetwork.new(Integer(seed), ports).listen))
  File.rename(written, ours)
  $stdin.read # until the parent process has ended
end
