# frozen_string_literal: true

# Downloads to a file, by pieces, with a limit, through a redirect.
class DownSDK < SDK
  about "Down", gem: "down", over: "open-uri and Net::HTTP"

  def respond(request)
    case request.target
    when "/large" then answer("0123456789" * 50_000, "Content-Type" => "image/png")
    when "/chunked" then chunked_answer("one", "two", "three", "Content-Type" => "text/plain")
    when "/moved" then redirect("/large")
    else not_found
    end
  end

  def call
    require "down"
    tell("download") { Down.download("#{url}/large").then { |file| [file.size, file.content_type] } }
    tell("redirect") { Down.download("#{url}/moved").size }
    tell("too large") { Down.download("#{url}/large", max_size: 1000) }
    tell("open") { Down.open("#{url}/large").then { |io| [io.read(5), io.size, io.close] } }
    tell("chunks") { Down.open("#{url}/chunked").each_chunk.to_a.join }
    tell("missing") { Down.download("#{url}/none") }
  end
end
