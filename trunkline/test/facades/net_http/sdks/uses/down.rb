# frozen_string_literal: true

# Downloads to a file, in pieces, with a limit, through a redirect.
class DownSDK < SDK
  about "Down", gem: "down", over: "open-uri and Net::HTTP"

  def respond(request)
    case request.target
    when "/large" then response_bytes("0123456789" * 50_000, "Content-Type" => "image/png")
    when "/chunked" then chunked_response("one", "two", "three", "Content-Type" => "text/plain")
    when "/moved" then redirect("/large")
    else not_found
    end
  end

  def call
    require "down"
    record("download") { Down.download("#{url}/large").then { |file| [file.size, file.content_type] } }
    record("redirect") { Down.download("#{url}/moved").size }
    record("too large") { Down.download("#{url}/large", max_size: 1000) }
    record("open") { Down.open("#{url}/large").then { |io| [io.read(5), io.size, io.close] } }
    record("chunks") { Down.open("#{url}/chunked").each_chunk.to_a.join }
    record("missing") { Down.download("#{url}/none") }
  end
end
