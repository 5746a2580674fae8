# frozen_string_literal: true

require "zlib"

# Files, redirects, progress, compression, errors.
class OpenUriSDK < SDK
  about "open-uri", gem: "open-uri", over: "Net::HTTP", tls: true, version: "Ruby #{RUBY_VERSION}"

  FIELDS = { "Content-Type" => "text/plain; charset=utf-8", "Last-Modified" => "Mon, 23 Nov 2026 00:00:00 GMT" }.freeze

  def respond(request)
    case request.target
    when "/text" then response_bytes("é", **FIELDS)
    when "/large" then response_bytes("x" * 200_000)
    when "/gzip" then response_bytes(Zlib.gzip("unpacked"), "Content-Encoding" => "gzip")
    when "/moved" then redirect("/text")
    else not_found
    end
  end

  # rubocop:disable-next Security/Open -- it is what is compared
  def call
    require "open-uri"
    options = { ssl_ca_cert: ca_file }
    record("text") { URI.open("#{url}/text", options).then { |io| [io.read, io.charset, io.last_modified.to_s] } }
    record("large") { URI.open("#{url}/large", options).then { |io| [io.class.name, io.size] } }
    record("gzip") { URI.open("#{url}/gzip", options, &:read) }
    record("redirect") { URI.open("#{url}/moved", options).base_uri.path }
    record("progress") do
      sizes = []
      URI.open("#{url}/large", { **options, progress_proc: ->(size) { sizes << size } }).close
      sizes.last
    end
    record("missing") { URI.open("#{url}/none", options) }
  end
end
