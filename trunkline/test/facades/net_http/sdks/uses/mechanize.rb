# frozen_string_literal: true

# Pages, forms, cookies, redirects, a file.
class MechanizeSDK < SDK
  about "Mechanize", gem: "mechanize", over: "net-http-persistent", tls: true

  PAGE = "<title>é</title><a href='/file'>file</a><form action='/echo' method='post'><input name='name'></form>"

  def respond(request)
    case request.target
    when "/page" then response_bytes(PAGE, "Content-Type" => "text/html; charset=utf-8", "Set-Cookie" => "s=1; path=/")
    when "/moved" then redirect("/page")
    when "/echo" then response_bytes("#{request["cookie"]} #{request.body}", "Content-Type" => "text/plain")
    when "/file" then response_bytes("\x00\x01", "Content-Type" => "application/octet-stream")
    else response_bytes("<p>none", status: "404 Not Found", "Content-Type" => "text/html")
    end
  end

  def call
    require "mechanize"
    agent = Mechanize.new { |made| made.ca_file = ca_file }
    page = nil
    record("page") { (page = agent.get("#{url}/moved")).then { |found| [found.title, found.uri.path] } }
    record("file") { page.link_with(text: "file").click.body.bytes }
    record("form") { page.form_with(action: "/echo") { |form| form["name"] = "ü" }.submit.body }
    record("missing") { agent.get("#{url}/none") }
    agent.shutdown
  end
end
