# frozen_string_literal: true

require_relative "support"

# Ethon's options for connections, redirects and TLS.
class TestTyphoeusOptions < TyphoeusTest
  def test_hosts_that_no_proxy_is_for
    proxy = serve(response_bytes("proxied"))
    server = serve
    { "127.0.0.1" => "ok", "10.0.0.1,127.0.0.1" => "ok", "*" => "ok", "other.test" => "proxied", "" => "proxied" }
      .each do |list, body|
      assert_equal body, request(server.url, proxy: proxy.address, noproxy: list).run.body, list
    end
  end

  def test_a_redirect_from_https_to_http_repeats_a_body_only_with_an_option
    plain = serve
    { "307 X" => {}, "302 X" => { postredir: :post_302 } }.each do |status, options|
      secure = serve_tls(redirect(plain.url, status: status))
      post = { method: :post, body: "private", followlocation: true, cainfo: TestCA.ca_file, **options }
      refused = request(secure.url, **post).run
      assert_equal [:unsupported_protocol, Trunkline::UnsafeRedirect], [refused.return_code, refused.error.class]
      assert_empty plain.requests
      assert_equal 200, request(secure.url, **post, redirect_body_to_http: true).run.code
      assert_equal "private", plain.requests.last.body
      plain = serve
    end
  end

  # The expected values are those that libcurl 7.88 sent.
  def test_autoreferer_names_where_a_redirect_came_from
    { {} => [nil, "URL/0", "URL/1?q=1"], { referer: "http://own.test/" } => ["http://own.test/", "URL/0", "URL/1?q=1"],
      { headers: { "Referer" => "http://own.test/" } } => ["http://own.test/"] * 3,
      { autoreferer: false } => [nil] * 3 }.each do |options, expected|
      server = serve do |connection|
        while (got = connection.read_request)
          at = got.target[1].to_i
          connection << (at < 2 ? redirect("/#{at + 1}?q=1#part") : response_bytes)
        end
      end
      url = server.url("/0").sub("//", "//user:password@")
      assert_equal 200, request(url, autoreferer: true, followlocation: true, **options).run.code
      referers = server.requests.map { |got| got["referer"]&.sub(server.url("").chomp("/"), "URL") }
      assert_equal expected, referers, options
    end
  end

  def test_phases_without_a_limit_in_libcurl_have_none
    limits = Trunkline::Facades::Typhoeus::Options.new({}).client_options.fetch(:timeout)
    assert_equal [Trunkline::Timeouts::ENDLESS], limits.values_at(:queue, :write, :first_byte, :read).uniq
    assert_equal 300, limits[:connect]
    options = Trunkline::Facades::Typhoeus::Options.new({ low_speed_time: 2 })
    assert_equal 2, options.client_options.dig(:timeout, :first_byte)
  end

  def test_a_body_of_any_size_is_read_without_maxfilesize
    script = [[:read, "HTTP/1.1 200 OK\r\nContent-Length: #{1 << 40}\r\n\r\nshort", :close]]
    assert_equal :partial_file, request(serve(script: script).url).run.return_code
    upload = { method: :post, multipart: true, body: { a: 1 }, headers: { "Content-Type" => "multipart/form-data" } }
    assert_equal :partial_file, request(serve(script: script).url, **upload).run.return_code
    assert_equal :filesize_exceeded, request(serve(script: script).url, maxfilesize: 1 << 39).run.return_code
  end

  def test_a_post_stays_a_post_after_redirects_with_postredir
    server = serve do |connection|
      while (got = connection.read_request)
        connection << (got.target == "/" ? redirect("/there") : response_bytes("#{got.verb} #{got.body}"))
      end
    end
    post = { method: :post, body: { a: 1 }, followlocation: true }
    assert_equal "GET ", request(server.url, **post).run.body
    [:post_302, :post_all, %i[post_301 post_302]].each do |names|
      assert_equal "POST a=1", request(server.url, postredir: names, **post).run.body
    end
    assert_equal "GET ", request(server.url, postredir: :post_301, **post).run.body
  end

  def test_ciphers
    context = TestCA.server_context(max: OpenSSL::SSL::TLS1_2_VERSION)
    context.ciphers = "ECDHE-#{TestCA::KIND}-AES128-GCM-SHA256"
    server = serve(tls: context) { |connection| connection << response_bytes while connection.read_request }
    codes = %w[AES128-GCM-SHA256 AES256-GCM-SHA384].map do |cipher|
      name = "ECDHE-#{TestCA::KIND}-#{cipher}"
      request(server.url, cainfo: TestCA.ca_file, ssl_cipher_list: name).run.return_code
    end
    assert_equal %i[ok ssl_connect_error], codes
    suites = { cainfo: TestCA.ca_file, tls13_ciphers: "TLS_AES_128_GCM_SHA256" }
    assert_equal CIPHERSUITES ? 200 : 0, request(serve_tls.url, **suites).run.code
  end

  def test_certificates_and_keys_as_text_and_with_a_password
    url = serve_tls(context: { client_ca: true }).url
    identity = TestCA.identity(:client)
    certificate = File.read(TestCA.certificate_file(:client))
    blobs = { cainfo_blob: File.read(TestCA.ca_file), sslcert_blob: certificate, sslkey_blob: identity.key.to_pem }
    assert_equal 200, request(url, **blobs).run.code
    Tempfile.create("key") do |file|
      file.write(identity.key.to_pem(OpenSSL::Cipher.new("aes-256-cbc"), "secret"))
      file.flush
      files = { cainfo: TestCA.ca_file, sslcert: TestCA.certificate_file(:client), sslkey: file.path }
      assert_equal 200, request(url, keypasswd: "secret", **files).run.code
      error = assert_raises(Trunkline::InvalidRequest) { request(url, keypasswd: "wrong", **files).run }
      refute_includes error.message, "wrong"
    end
  end

  def test_a_key_with_a_password_that_is_rotated
    server = serve_tls(context: { client_ca: true }) do |connection|
      name = connection.socket.peer_cert.subject.to_a.assoc("CN")[1]
      connection << response_bytes(name, "Connection" => "close") if connection.read_request
    end
    Dir.mktmpdir do |folder|
      files = { sslcert: File.join(folder, "client.pem"), sslkey: File.join(folder, "client.key") }
      options = { cainfo: TestCA.ca_file, keypasswd: "secret", **files }
      %i[client second_client].each_with_index do |identity, index|
        write_pair(files, TestCA.identity(identity), 90 - index)
        assert_equal TestCA::LEAVES[identity][:common_name], request(server.url, **options).run.body
      end
      File.write(files[:sslkey], "none")
      assert_equal "second client", request(server.url, **options).run.body
    end
  end

  def test_paths_with_dots
    server = serve
    request("#{server.url}a/../b").run
    request("#{server.url}a/../b", path_as_is: true).run
    assert_equal %w[/b /a/../b], server.requests.map(&:target)
  end

  def test_the_scheme_of_urls_without_one
    server = serve_tls
    options = { cainfo: TestCA.ca_file, default_protocol: "https" }
    assert_equal 200, request(server.address, **options).run.code
  end

  def test_compressed_bodies_as_they_came
    server = serve(response_bytes(Zlib.gzip("plain"), "Content-Encoding" => "gzip"))
    made = request(server.url, accept_encoding: "gzip", http_content_decoding: false)
    assert_equal "plain", Zlib.gunzip(made.run.body)
    assert_equal "gzip", server.requests.last["Accept-Encoding"]
  end

  def test_protocols_as_text
    assert_equal 200, request(serve.url, protocols_str: "http,https").run.code
    assert_raises(Typhoeus::Errors::UnsupportedOption) { request("http://127.0.0.1:1", protocols_str: "ftp").run }
  end

  def test_keepalive_probes
    assert_equal 200, request(serve.url, tcp_keepalive: 1, tcp_keepidle: 60, tcp_keepintvl: 5).run.code
    error = assert_raises(Trunkline::InvalidRequest) { request(serve.url, tcp_keepalive: 1, tcp_keepidle: -1).run }
    assert_includes error.message, "tcp_keepalive"
  end

  private

  # Sets the files' times `ago` seconds back, since file systems store times coarsely.
  def write_pair(files, identity, ago)
    File.write(files[:sslcert], [identity.certificate, *identity.issuers].map(&:to_pem).join)
    File.write(files[:sslkey], identity.key.to_pem(OpenSSL::Cipher.new("aes-256-cbc"), "secret"))
    files.each_value { |path| File.utime(Time.now - ago, Time.now - ago, path) }
  end
end
