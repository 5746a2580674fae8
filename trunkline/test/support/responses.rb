# frozen_string_literal: true

require "json"

# Bytes of responses, as a server writes them, for scripts and tables.
module Responses
  module_function

  # response_bytes("hello", status: "404 Not Found", "X-Name" => "value")
  def response_bytes(body = "ok", status: "200 OK", **headers)
    lines = { "Content-Length" => body.bytesize, **headers }.map { |name, value| "#{name}: #{value}\r\n" }
    "HTTP/1.1 #{status}\r\n#{lines.join}\r\n".b + body.b
  end

  # chunked_response("first", "second", trailers: { "X-Sum" => "1" })
  def chunked_response(*chunks, trailers: {}, **headers)
    head = { "Transfer-Encoding" => "chunked", **headers }.map { |name, value| "#{name}: #{value}\r\n" }.join
    tail = trailers.map { |name, value| "#{name}: #{value}\r\n" }.join
    "HTTP/1.1 200 OK\r\n#{head}\r\n".b + chunks.map { |chunk| chunk(chunk) }.join + "0\r\n#{tail}\r\n"
  end

  def chunk(bytes) = "#{bytes.bytesize.to_s(16)}\r\n".b + bytes.b + "\r\n"

  def json_response(value, **headers)
    response_bytes(JSON.generate(value), "Content-Type" => "application/json", **headers)
  end

  def redirect(location, status: "302 Found", **headers)
    response_bytes("", status: status, "Location" => location, **headers)
  end
end
