# frozen_string_literal: true

require_relative "../test_helper"

# The files of certificates and authorities change while a client exists: its new connections use the new content.
class TestTLSFiles < TrunklineTest
  stressable

  def setup
    super
    @folder = Dir.mktmpdir("trunkline-tls")
    @written = Time.now - 3600
  end

  def teardown
    super
  ensure
    FileUtils.rm_rf(@folder)
  end

  # Ways to make a request. The server closes each connection, so every request opens a new one.
  CALLS = {
    call: ->(http) { http.get("/").body },
    map: ->(http) { http.map(["/"]).first.then { |result| result.is_a?(Exception) ? raise(result) : result.body } },
    future: ->(http) { http.async.get("/").value!.body }
  }.freeze

  CALLS.each do |name, call|
    define_method(:"test_a_rotated_client_certificate_by_#{name}") do
      http = client_with_files
      rotate(:client)
      assert_equal ["first client"] * 2, Array.new(2) { call.call(http) }
      rotate(:second_client)
      assert_equal ["second client"] * 2, Array.new(2) { call.call(http) }
    end

    define_method(:"test_rotated_authorities_by_#{name}") do
      http = client(serve_closing.url, ca_file: write("ca.pem", File.read(TestCA.other_ca_file)))
      assert_raises(Trunkline::CertificateError) { call.call(http) }
      write("ca.pem", File.read(TestCA.ca_file))
      2.times { assert_equal "nobody", call.call(http) }
      write("ca.pem", File.read(TestCA.other_ca_file))
      assert_raises(Trunkline::CertificateError, "no session of before is resumed") { call.call(http) }
    end
  end

  def test_a_certificate_and_its_key_in_one_file
    path = write("both.pem", both(:client))
    http = secure_client(serve_closing(client_ca: true).url, client_cert: path)
    assert_equal "first client", http.get("/").body
    write("both.pem", both(:second_client))
    assert_equal "second client", http.get("/").body
  end

  def test_half_of_a_rotation_is_waited_out
    http = client_with_files
    rotate(:client)
    assert_equal "first client", http.get("/").body
    write("client.pem", File.read(TestCA.certificate_file(:second_client)))
    3.times { assert_equal "first client", http.get("/").body }
    write("client.key", File.read(TestCA.key_file(:second_client)))
    assert_equal "second client", http.get("/").body
  end

  def test_a_file_that_cannot_be_read_leaves_what_was_read_before
    rotate(:client)
    http = client_with_files
    assert_equal "first client", http.get("/").body
    ["", "-----BEGIN CERTIFICATE-----\nno", nil].product(%w[client.pem client.key ca.pem]).each do |bytes, name|
      kept = File.read(File.join(@folder, name))
      bytes ? write(name, bytes) : File.delete(File.join(@folder, name))
      assert_equal "first client", http.get("/").body, [name, bytes]
      write(name, kept)
    end
    rotate(:second_client)
    assert_equal "second client", http.get("/").body
  end

  def test_a_renamed_file_is_read_again
    rotate(:client)
    http = client_with_files
    assert_equal "first client", http.get("/").body
    { "client.pem" => :certificate_file, "client.key" => :key_file }.each do |name, file|
      FileUtils.cp(TestCA.public_send(file, :second_client), File.join(@folder, "new"))
      File.rename(File.join(@folder, "new"), File.join(@folder, name))
    end
    assert_equal "second client", http.get("/").body
  end

  def test_a_connection_that_is_open_goes_on
    server = serve_tls(context: { client_ca: true })
    rotate(:client)
    http = client_with_files(server)
    first = http.get("/")
    rotate(:second_client)
    assert_same_connection first, http.get("/")
  end

  # A new client checks its files.
  def test_a_new_client_refuses_an_unusable_file
    rotate(:client)
    http = client_with_files
    http.get("/")
    write("client.pem", "none")
    assert_equal "first client", http.get("/").body
    error = assert_raises(Trunkline::TLSError) { client_with_files.get("/") }
    assert_match(/client_cert/, error.message)
  end

  def test_a_directory_of_authorities
    directory = File.join(@folder, "authorities")
    Dir.mkdir(directory)
    http = client(serve_closing.url, ca_path: directory)
    assert_raises(Trunkline::CertificateError) { http.get("/") }
    FileUtils.cp(Dir["#{TestCA.ca_path}/*"], directory)
    assert_equal "nobody", http.get("/").body
    FileUtils.rm(Dir["#{directory}/*"])
    assert_raises(Trunkline::CertificateError) { http.get("/") }
  end

  private

  def client_with_files(server = serve_closing(client_ca: true))
    write("ca.pem", File.read(TestCA.ca_file)) unless File.exist?(File.join(@folder, "ca.pem"))
    rotate(:client) unless File.exist?(File.join(@folder, "client.pem"))
    client(server.url, ca_file: File.join(@folder, "ca.pem"), client_cert: File.join(@folder, "client.pem"),
                       client_key: File.join(@folder, "client.key"))
  end

  # Responds with the common name of the client's certificate.
  def serve_closing(**context)
    serve_tls(context: context) do |connection|
      if connection.read_request
        certificate = connection.socket.peer_cert
        name = certificate ? certificate.subject.to_a.assoc("CN")[1] : "nobody"
        connection << response_bytes(name, "Connection" => "close")
      end
    end
  end

  def rotate(identity)
    write("client.pem", File.read(TestCA.certificate_file(identity)))
    write("client.key", File.read(TestCA.key_file(identity)))
  end

  def both(identity) = File.read(TestCA.certificate_file(identity)) + File.read(TestCA.key_file(identity))

  # File systems record times coarsely, so each write gets a distinct time.
  def write(name, bytes)
    path = File.join(@folder, name)
    File.write(path, bytes)
    @written += 1
    File.utime(@written, @written, path)
    path
  end
end
