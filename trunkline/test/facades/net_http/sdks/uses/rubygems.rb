# frozen_string_literal: true

# RubyGems' own client: a fetch, a redirect, a conditional request, an error.
class RubygemsSDK < SDK
  about "RubyGems", gem: "rubygems", over: "Net::HTTP in a pool of its own", version: Gem::VERSION

  def respond(request)
    return response_bytes("", status: "304 Not Modified") if request["if-modified-since"]

    case request.target
    when "/versions"
      response_bytes("created_at: 2026\n---\na 1.0\n", "Content-Type" => "text/plain", "ETag" => '"1"')
    when "/moved" then redirect("http://#{request["host"]}/versions")
    when %r{\A/gems/} then response_bytes("\x1F\x8Bgem", "Content-Type" => "application/octet-stream")
    else not_found
    end
  end

  def call
    require "rubygems/remote_fetcher"
    fetcher = Gem::RemoteFetcher.new
    record("fetch") { fetcher.fetch_path(URI("#{url}/versions")) }
    record("redirect") { fetcher.fetch_path(URI("#{url}/moved")) }
    record("unchanged") { fetcher.fetch_path(URI("#{url}/versions"), Time.at(0)) }
    record("gem") { fetcher.fetch_path(URI("#{url}/gems/a-1.0.gem")).bytes }
    record("missing") { fetcher.fetch_path(URI("#{url}/none")) }
    fetcher.close_all
  end
end
