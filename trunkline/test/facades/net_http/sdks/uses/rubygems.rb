# frozen_string_literal: true

# RubyGems' own client: a fetch, a redirect, a conditional one, an error.
class RubygemsSDK < SDK
  about "RubyGems", gem: "rubygems", over: "Net::HTTP in a pool of its own", version: Gem::VERSION

  def respond(request)
    return answer("", status: "304 Not Modified") if request["if-modified-since"]

    case request.target
    when "/versions" then answer("created_at: 2026\n---\na 1.0\n", "Content-Type" => "text/plain", "ETag" => '"1"')
    when "/moved" then redirect("http://#{request["host"]}/versions")
    when %r{\A/gems/} then answer("\x1F\x8Bgem", "Content-Type" => "application/octet-stream")
    else not_found
    end
  end

  def call
    require "rubygems/remote_fetcher"
    fetcher = Gem::RemoteFetcher.new
    tell("fetch") { fetcher.fetch_path(URI("#{url}/versions")) }
    tell("redirect") { fetcher.fetch_path(URI("#{url}/moved")) }
    tell("unchanged") { fetcher.fetch_path(URI("#{url}/versions"), Time.at(0)) }
    tell("gem") { fetcher.fetch_path(URI("#{url}/gems/a-1.0.gem")).bytes }
    tell("missing") { fetcher.fetch_path(URI("#{url}/none")) }
    fetcher.close_all
  end
end
