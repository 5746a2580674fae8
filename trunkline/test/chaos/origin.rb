# frozen_string_literal: true

require "json"
require_relative "../support/http2/frame_server"

# The server that the chaos test calls, in a separate process, over plain HTTP/1.1, TLS and HTTP/2. It writes each
# request to a file as soon as its head has arrived, so that every arrived request is recorded even when no response is
# sent.
#
#   ruby origin.rb SEED PORTS_FILE REQUESTS_FILE CERTIFICATE_FILE KEY_FILE
#
# The path of a request is /KIND/NAME; the body of each response begins with the name.
class ChaosOrigin
  LARGE = 300_000

  def initialize(seed, requests, certificate, key)
    @random = Random.new(seed)
    @certificates = OpenSSL::X509::Certificate.load_file(certificate)
    @key = OpenSSL::PKey.read(File.read(key))
    @requests = requests
    @lock = Mutex.new
  end

  # @return [Hash{Symbol => Integer}] ports
  def listen
    servers = { plain: ScriptedServer.new { |connection| serve(connection) },
                tls: ScriptedServer.new(tls: context("http/1.1")) { |connection| serve(connection) },
                h2c: FrameServer.new(settings: { max_concurrent_streams: 20 }) { |stream| respond_on_stream(stream) },
                h2: FrameServer.new(tls: context("h2")) { |stream| respond_on_stream(stream) } }
    servers.transform_values(&:port)
  end

  private

  def context(protocol)
    leaf, *issuers = @certificates
    OpenSSL::SSL::SSLContext.new.tap do |context|
      context.add_certificate(leaf, @key, issuers)
      context.alpn_select_cb = ->(offered) { protocol if offered.include?(protocol) }
    end
  end

  def note(verb, path)
    @lock.synchronize { File.write(@requests, "#{verb} #{path.split("/").last}\n", mode: "a") }
  end

  # Reads the request itself, since ScriptedServer returns the head only after the body has arrived.
  def serve(connection)
    socket = connection.socket
    while (line = socket.gets("\r\n"))&.end_with?("\r\n") # the network may have truncated it
      verb, path, = line.split
      note(verb, path)
      fields = read_fields(socket)
      read_body(socket, fields)
      respond(socket, path)
      break if path.start_with?("/close/")
    end
  end

  def read_fields(socket)
    fields = {}
    while (line = socket.gets("\r\n")) && line != "\r\n"
      name, value = line.chomp.split(": ", 2)
      fields[name.downcase] = value
    end
    fields
  end

  def read_body(socket, fields)
    return socket.read(fields["content-length"].to_i) if fields["content-length"]
    return unless fields["transfer-encoding"]

    loop do
      size = socket.gets("\r\n").to_s.to_i(16)
      socket.read(size + 2)
      break if size.zero?
    end
  end

  def respond(socket, path)
    _, kind, name = path.split("/")
    sleep(@random.rand(0.08)) if kind == "slow"
    case kind
    when "chunks"
      socket.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
      [name, *Array.new(20) { "x" * 500 }].each { |chunk| socket.write(Responses.chunk(chunk)) }
      socket.write("0\r\n\r\n")
    when "close" then socket.write(Responses.response_bytes(name, "Connection" => "close"))
    when "large" then socket.write(Responses.response_bytes(name + ("y" * LARGE)))
    else socket.write(Responses.response_bytes(name))
    end
  end

  # A refused request was not processed (RFC 9113 8.7): it is not recorded, and may be sent again.
  def respond_on_stream(stream)
    _, kind, name = stream.target.split("/")
    reset = %i[cancel refused_stream internal_error].sample(random: @random) if kind == "close"
    return stream.reset(reset) if reset == :refused_stream

    note(stream.verb, stream.target)
    stream.body if stream.verb == "POST"
    sleep(@random.rand(0.08)) if kind == "slow"
    return stream.reset(reset) if reset

    stream.answer(kind == "large" ? name + ("y" * LARGE) : name)
  end
end

if $PROGRAM_NAME == __FILE__
  seed, ports, *files = ARGV
  Thread.report_on_exception = false
  written = "#{ports}.new"
  File.write(written, JSON.generate(ChaosOrigin.new(Integer(seed), *files).listen))
  File.rename(written, ports) # atomically, so that a reader gets the whole file
  $stdin.read # until the parent process has ended
end
