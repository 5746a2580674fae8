# frozen_string_literal: true

require "erb"
require "fileutils"
require "openssl"
require "socket"
require_relative "../support/free_port"
require_relative "../support/nginx"
require_relative "../support/certificate_authority"

# The servers of a soak: nginx over plain HTTP/1.1, TLS and HTTP/2, which is killed and restarted, and gets new
# certificates. It records the requests that have an id.
class SoakServers
  STARTED_WITHIN = 10

  # A disturbance of the callers; `until` is when the last of them may still have noticed it.
  Event = Struct.new(:kind, :from, :until)

  AFTERWARDS = 3.0 # seconds in which callers may still use a connection from before the event

  attr_reader :ports, :events, :serials

  def initialize(folder)
    @folder = folder
    @ports = %i[plain tls h2].zip(FreePort.take(3)).to_h
    @events = []
    @serials = []
    File.chmod(0o755, folder)
    FileUtils.touch(arrived)
    write_certificate
    File.write(configuration, ERB.new(File.read(File.join(__dir__, "nginx.conf.erb")), trim_mode: "-").result(binding))
  end

  def start
    pipe_end, @parent_exit_pipe = IO.pipe
    pipe_end.nonblock = false # as in ChildServer#start
    @pid = Process.spawn("sh", "-c", ChildServer::KILL_AT_PARENT_EXIT, "sh", "nginx", "-p", @folder,
                         "-c", configuration, "-e", "stderr", pgroup: true, err: errors, 3 => pipe_end)
    pipe_end.close
    limit = now + STARTED_WITHIN
    until @ports.each_value.all? { |port| FreePort.open?(port) }
      raise "nginx did not start: #{File.read(errors)}" if now > limit

      sleep 0.02
    end
    note_serial
  end

  # Kills master and worker at once.
  def restart
    event(:restart) do
      stop
      start
    end
  end

  # Idle connections are closed, new ones get the new certificate.
  def rotate
    event(:rotation) do
      write_certificate
      Process.kill(:HUP, @pid)
      limit = now + STARTED_WITHIN
      sleep 0.05 until note_serial || now > limit
    end
  end

  def stop
    Process.kill(:KILL, -@pid)
    Process.wait(@pid)
    @parent_exit_pipe.close
  end

  # @return [Array<String>] ids of the requests that have arrived
  def arrived_ids = File.readlines(arrived, chomp: true)

  private

  def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
  def configuration = File.join(@folder, "nginx.conf")
  def errors = File.join(@folder, "errors")
  def arrived = File.join(@folder, "arrived")
  def certificate = File.join(@folder, "certificate.pem")
  def key = File.join(@folder, "key.pem")

  def event(kind)
    from = now
    yield
    @events << Event.new(kind, from, now + AFTERWARDS)
  end

  def write_certificate
    leaf = TestCA.new_leaf(:localhost)
    File.write(certificate, [leaf.certificate, *leaf.issuers].map(&:to_pem).join)
    File.write(key, leaf.key.to_pem)
  end

  # @return [Boolean] whether the server's certificate is new
  def note_serial
    context = OpenSSL::SSL::SSLContext.new.tap { |made| made.verify_mode = OpenSSL::SSL::VERIFY_NONE }
    socket = OpenSSL::SSL::SSLSocket.new(TCPSocket.new("127.0.0.1", @ports.fetch(:tls)), context).tap(&:connect)
    serial = socket.peer_cert.serial.to_s
    known = @serials.include?(serial)
    @serials << serial unless known
    !known
  rescue SystemCallError, OpenSSL::SSL::SSLError
    false
  ensure
    socket&.io&.close
  end
end
