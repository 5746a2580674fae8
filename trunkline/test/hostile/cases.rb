# frozen_string_literal: true

require "openssl"
require "zlib"
require_relative "../support/answers"

# What a server may do wrong, over HTTP/1.1, and what the client must do: docs/safety.md is made of this table
# (rake safety:docs), and test_cases.rb runs it.
module HostileCases
  extend Answers

  # does: what the server does, for the page. expected: the name of the error, or the body that the caller gets.
  # only: :tls for what TLS alone has. net_http: and typhoeus: what their users get where those take more from a server
  # than the client: true for the answer, the name of another error, or the part of the body that they get. pause:
  # seconds until the next call.
  # late: the fault comes behind the end of the call, and may be found by a call that follows, which then fails, too.
  # warm: a good call comes first, so that the connection is a kept one. coding: what the build must be able to undo.
  # options: of the call; a case that needs some is not run through the facades. script: called with the connection
  # when the request has been read. Whatever the case, the next call of the same client must be answered.
  Case = Struct.new(:group, :name, :does, :expected, :only, :net_http, :typhoeus, :pause, :late, :warm, :verb, :coding,
                    :options, :script, keyword_init: true) do
    # @param library [Symbol, nil] :net_http, :typhoeus
    # @return [Case] what its users get
    def for(library) = dup.tap { |one| one.expected = one[library] || expected }

    # @return [Boolean] whether it is a case for calls without options
    def facades? = options.empty? && verb == :get && !warm && !coding

    # @return [Boolean]
    def fails? = expected.is_a?(Symbol)
  end

  OK = "HTTP/1.1 200 OK\r\n"
  CHUNKED = "#{OK}Transfer-Encoding: chunked\r\n\r\n".freeze
  SHORT = { first_byte: 0.2, read: 0.2, total: 10 }.freeze
  MEGABYTE = ("\0" * 1_048_576).freeze

  # @return [String] an answer with these fields and this body
  def self.head(*fields, body: "ok") = "#{OK}#{fields.map { |field| "#{field}\r\n" }.join}\r\n#{body}".b

  def self.coded(coding, body) = answer(body, "Content-Encoding" => coding)

  # @param megabytes [Integer] of zeros
  def self.gzip(megabytes)
    io = StringIO.new("".b)
    writer = Zlib::GzipWriter.new(io)
    megabytes.times { writer.write(MEGABYTE) }
    writer.finish
    io.string
  end

  # Run-length blocks of 128 KiB: magic number, frame header, window of 1 MiB, blocks of (last, type 1, size).
  # @param megabytes [Integer] of zeros
  def self.zstd_bomb(megabytes)
    blocks = megabytes * 8
    heads = Array.new(blocks) { |index| (index == blocks - 1 ? 1 : 0) | (1 << 1) | (131_072 << 3) }
    [0xFD2FB528, 0, 0x50].pack("VCC") + heads.map { |head| "#{[head].pack("V")[0, 3]}\0" }.join
  end

  # The origin of the connection's server, perhaps under another name.
  def self.origin(connection, host = "127.0.0.1", scheme: connection.tls? ? "https" : "http")
    "#{scheme}://#{host}:#{connection.tcp.local_address.ip_port}"
  end

  # Made by the programs of brotli and zstd: 24 MB of zeros, and "ok".
  BOMBS = { "br" => "y///P/gnAOKxQCD3/o///3/wTwDEYRGA7v1f/v//4Z8AiMMCAN37Pw==".unpack1("m"),
            "zstd" => zstd_bomb(24) }.freeze
  OKS = { "br" => "iwCAb2sD".unpack1("m"), "zstd" => "KLUv/QRYEQAAb2v5XBQW".unpack1("m") }.freeze
  LITTLE = { options: { max_body_bytes: 1_000_000 } }.freeze

  TABLE = [] # rubocop:disable Style/MutableConstant -- frozen below, when it is complete
  private_constant :TABLE

  def self.group(name)
    @group = name
    yield
  end

  # @param bytes [String, nil] sent as they are, instead of a script
  def self.add(name, does, expected, bytes = nil, pause: 0, verb: :get, options: {}, **more, &script)
    script ||= ->(connection) { connection << bytes }
    TABLE << Case.new(group: @group, name: name, does: does, expected: expected, pause: pause, verb: verb,
                      options: options, script: script, **more).freeze
  end

  group "Framing" do
    add :lengths_that_differ, "two `Content-Length` that differ", :InvalidResponse,
        head("Content-Length: 2", "Content-Length: 5")
    add :length_below_zero, "`Content-Length: -2`", :InvalidResponse, head("Content-Length: -2")
    add :length_of_letters, "`Content-Length: two`", :InvalidResponse, head("Content-Length: two")
    add :length_beyond_64_bits, "`Content-Length` of 30 digits", :InvalidResponse, head("Content-Length: #{"9" * 30}")
    add :length_and_chunked, "`Content-Length` beside `Transfer-Encoding: chunked`", :InvalidResponse,
        head("Content-Length: 2", "Transfer-Encoding: chunked", body: "2\r\nok\r\n0\r\n\r\n"), net_http: true
    add :length_too_small, "more bytes than `Content-Length` says", "ok", head("Content-Length: 2", body: "okEVIL")
    add(:length_too_large, "fewer bytes than `Content-Length` says, and the end", :TruncatedBody) do |connection|
      connection << head("Content-Length: 9")
      connection.close
    end
    add(:chunks_cut, "the end within a chunk", :TruncatedBody) do |connection|
      connection << "#{CHUNKED}9\r\nok"
      connection.close
    end
    add(:last_chunk_missing, "the end instead of the last chunk", :TruncatedBody) do |connection|
      connection << "#{CHUNKED}2\r\nok\r\n"
      connection.close
    end
    add :chunk_size_overflow, "a chunk size of 17 digits", :InvalidResponse,
        "#{CHUNKED}10000000000000002\r\nok\r\n0\r\n\r\n"
    add :chunk_longer_than_told, "a chunk longer than its size", :InvalidResponse, "#{CHUNKED}2\r\nokay\r\n0\r\n\r\n"
    add :chunk_extension_without_end, "a chunk extension of 2 MB", :InvalidResponse, "#{CHUNKED}2;#{"a" * 2_000_000}"
    add :two_answers, "a second answer that nobody asked for", "ok", answer("ok") + answer("EVIL")
    add :split, "an answer within the body of another, whose length is too small", "ok",
        head("Content-Length: 2", body: "ok#{answer("EVIL")}")
  end

  group "Heads" do
    add :http_0_9, "a body without a head", :InvalidResponse, "hello, world, this is no head at all\r\n\r\n"
    add :another_version, "`HTTP/2.0` as its version", :InvalidResponse,
        "HTTP/2.0 200 OK\r\nContent-Length: 2\r\n\r\nok", net_http: true
    add :nul, "NUL in a field", :InvalidResponse, head("X: a\0b", "Content-Length: 2"), net_http: true
    add :giant_field, "one field of 2 MB", :HeadersTooLarge, head("X: #{"a" * 2_000_000}", "Content-Length: 2")
    add :flood_of_fields, "100,000 fields", :HeadersTooLarge, head(*Array.new(100_000) { |number| "X-#{number}: 1" })
    add :flood_of_1xx, "50,000 times `103`", :InvalidResponse, "HTTP/1.1 103 X\r\nA: b\r\n\r\n" * 50_000
    add :switching_unasked, "`101` unasked", :InvalidResponse, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n",
        net_http: :FirstByteTimeout
    add(:head_cut, "the end within the head", :TruncatedBody) do |connection|
      connection << "#{OK}Content-Le"
      connection.close
    end
  end

  group "Connections" do
    add :closed, "the end instead of an answer", :ConnectionClosed, &:close
    add :reset, "a reset instead of an answer", :ConnectionClosed, &:reset
    %i[get head put delete options post patch].each do |verb|
      { close: "the end", reset: "a reset" }.each do |way, does|
        add(:"#{way}_of_a_kept_connection_on_#{verb}", "#{does} instead of an answer to #{verb.upcase}, on a kept one",
            :ConnectionClosed, warm: true, verb: verb) { |connection| connection.public_send(way) }
      end
    end
    add(:without_close_notify, "the end of TCP without that of TLS, of a body without a length", :TruncatedBody,
        only: :tls) do |connection|
      connection << "#{OK}Connection: close\r\n\r\nok"
      connection.close_abruptly
    end
    add(:poisoned, "an answer that nobody asked for, on the idle connection", "ok", pause: 0.2) do |connection|
      connection << answer("ok")
      sleep 0.05
      connection << answer("EVIL")
    end
    add :silence, "no byte of an answer", :FirstByteTimeout, options: { timeout: SHORT }, &:stall
    add(:half_a_head, "half a head, and then nothing", :ReadTimeout, options: { timeout: SHORT }) do |connection|
      connection << "#{OK}Content-"
      connection.stall
    end
    add(:half_a_body, "half a body, and then nothing", :ReadTimeout, options: { timeout: SHORT }) do |connection|
      connection << head("Content-Length: 9")
      connection.stall
    end
    add(:slow_body, "a body of which a byte comes from time to time", :TotalTimeout,
        options: { timeout: { total: 0.5 } }) do |connection|
      connection << head("Content-Length: 999", body: "")
      connection.drip("x" * 999, every: 0.05)
    end
    add(:drip, "a head of which a byte comes from time to time", :TotalTimeout,
        options: { timeout: { total: 0.5 } }) do |connection|
      connection.drip(head("Content-Length: 999", body: "x" * 999), every: 0.05)
    end
    add(:endless, "a body without an end", :BodyTooLarge, options: { max_body_bytes: 4_000_000 }) do |connection|
      connection << "#{OK}\r\n"
      loop { connection << MEGABYTE }
    end
  end

  group "Codings" do
    add(:bomb, "24 MB of zeros as gzip", :BodyTooLarge, net_http: true, typhoeus: true) do |connection|
      connection << coded("gzip", bomb)
    end
    add(:nested_bomb, "the same, as gzip within gzip", :BodyTooLarge, net_http: true, typhoeus: true) do |connection|
      connection << coded("gzip, gzip", Zlib.gzip(bomb))
    end
    add :many_codings, "gzip ten times over", :DecodeError, coded((["gzip"] * 10).join(", "), "x"), net_http: true
    add :gzip_cut, "gzip that ends early", :DecodeError, coded("gzip", Zlib.gzip("ok" * 1000)[0..-12])
    add :gzip_bad_crc, "gzip with a wrong checksum", :DecodeError,
        coded("gzip", Zlib.gzip("ok").tap { |bytes| bytes.setbyte(-8, bytes.getbyte(-8) ^ 1) })
    add :no_gzip, "`Content-Encoding: gzip` of something else", :DecodeError, coded("gzip", "no gzip at all")
    add :gzip_members, "gzip of two members", "ok", coded("gzip", Zlib.gzip("o") + Zlib.gzip("k")), net_http: "o"
    add :gzip_many_members, "gzip of 100,000 empty members and one that is not", "ok",
        coded("gzip", (Zlib.gzip("") * 100_000) + Zlib.gzip("ok")), net_http: ""
    OKS.each do |coding, ok|
      coded_row = ->(name, *row) { add :"#{coding}_#{name}", *row[0, 2], coded(*row[2]), coding: coding, **row[3].to_h }
      bomb = BOMBS.fetch(coding)
      coded_row.call(:bomb, "24 MB of zeros as #{coding}", :BodyTooLarge, [coding, bomb], LITTLE)
      coded_row.call(:in_gzip, "24 MB of zeros as #{coding}, within gzip", :BodyTooLarge,
                     ["#{coding}, gzip", Zlib.gzip(bomb)], LITTLE)
      coded_row.call(:cut, "#{coding} that ends early", :DecodeError, [coding, ok[0..-2]])
      coded_row.call(:none, "`Content-Encoding: #{coding}` of something else", :DecodeError, [coding, "none at all"])
    end
    add :zstd_bad_checksum, "zstd with a wrong checksum", :DecodeError,
        coded("zstd", OKS["zstd"].dup.tap { |bytes| bytes.setbyte(-1, bytes.getbyte(-1) ^ 1) }), coding: "zstd"
    add :zstd_frames, "zstd of two frames", "okok", coded("zstd", OKS["zstd"] * 2), coding: "zstd"
  end

  # What "/there" was sent, or the way to it.
  def self.next_answer(request, origin)
    return redirect("#{origin}/there") unless request.target == "/there"

    answer(request["Authorization"] || "no credentials")
  end

  # Made once, when it is first sent.
  def self.bomb = @bomb ||= gzip(24)

  group "Redirects" do
    follow = { follow: 5 }
    add(:loop, "a redirect to itself", :RedirectLoop, redirect("/"), options: follow)
    add :to_file, "a redirect to `file:///etc/passwd`", :UnsafeRedirect, redirect("file:///etc/passwd"), options: follow
    add :to_ftp, "a redirect to `ftp:`", :UnsafeRedirect, redirect("ftp://127.0.0.1/"), options: follow
    add :to_nowhere, "a redirect to what is no URL", :UnsafeRedirect, redirect("http://[::1"), options: follow
    secret = { follow: 5, headers: { "Authorization" => "Bearer secret" } }
    add(:to_another_origin, "a redirect to another origin", "no credentials", options: secret) do |connection|
      there = connection.requests.last
      connection << next_answer(there, origin(connection, "localhost"))
    end
    add(:with_userinfo, "a redirect with userinfo", "no credentials", options: follow) do |connection|
      there = connection.requests.last
      connection << next_answer(there, origin(connection, "user:secret@127.0.0.1"))
    end
    add :down_to_http, "a redirect from https to http, of a call with credentials", :UnsafeRedirect,
        redirect("http://127.0.0.1:9/"), only: :tls, options: secret
    add :to_metadata, "a redirect to the metadata service, with `egress:`", :EgressRefused,
        redirect("http://169.254.169.254/"), options: { follow: 5, egress: { allow: ["127.0.0.1"] } }
  end

  ALL = TABLE.freeze

  # What a server may show in the handshake: arguments of TestCA.server_context, and what the caller gets.
  HANDSHAKES = {
    self_signed: ["a certificate that it has signed itself", :CertificateError, [:self_signed]],
    unknown_authority: ["a certificate of an unknown authority", :CertificateError, [:unknown_ca]],
    missing_intermediate: ["a certificate without the intermediate one", :CertificateError, [:missing_intermediate]],
    wrong_host: ["a certificate for another host", :CertificateError, [:wrong_host]],
    common_name_only: ["a certificate that names its host as common name alone", :CertificateError,
                       [:common_name_only]],
    expired: ["a certificate that has expired", :CertificateError, [:expired]],
    not_yet_valid: ["a certificate that is not valid yet", :CertificateError, [:not_yet_valid]],
    for_clients: ["a certificate for clients", :CertificateError, [:client]],
    tls_1_1: ["TLS 1.1 at most", :TLSError, [:localhost, { max: OpenSSL::SSL::TLS1_1_VERSION }]]
  }.freeze
end
