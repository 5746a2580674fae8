# frozen_string_literal: true

# Pages linked by Link fields, conditional requests, a redirect, an error.
class OctokitSDK < SDK
  about "Octokit", gem: "octokit", over: "Faraday (net_http)", common: true

  FIELDS = { "Content-Type" => "application/json; charset=utf-8", "X-RateLimit-Remaining" => "4999" }.freeze

  def respond(request)
    return response_bytes("", status: "304 Not Modified", "ETag" => '"1"') if request["if-none-match"]

    case [request.verb, request.target]
    in ["GET", %r{\A/user/repos\?.*page=2}] then json_response([{ id: 2, name: "two" }], **FIELDS)
    in ["GET", %r{\A/user/repos}] then json_response([{ id: 1, name: "one" }], **FIELDS, "Link" => next_page(request))
    in ["GET", "/repos/o/moved"]
      redirect("http://#{request["host"]}/repositories/1", status: "301 Moved Permanently")
    in ["GET", _] then repository(request)
    in ["POST", _] then json_response({ number: 1, title: "bug" }, status: "201 Created", **FIELDS)
    in ["DELETE", _] then "HTTP/1.1 204 No Content\r\n\r\n"
    end
  end

  def call
    require "octokit"
    github = Octokit::Client.new(access_token: "t", api_endpoint: "#{url}/", per_page: 1, auto_paginate: true)
    record("pages") { github.repos.map(&:name) }
    record("get") { github.repo("o/r").then { |repo| [repo.id, repo.owner.login] } }
    record("redirect") { github.repo("o/moved").id }
    record("create") { github.create_issue("o/r", "bug", "text").number }
    record("unchanged") { [github.repo("o/r", headers: { "If-None-Match" => '"1"' }), github.last_response.status] }
    record("delete") { github.delete_repo("o/r") }
    record("missing") { github.repo("o/missing") }
  end

  private

  def next_page(request) = %(<http://#{request["host"]}/user/repos?per_page=1&page=2>; rel="next")

  def repository(request)
    return not_found({ message: "Not Found" }) if request.target.include?("missing")

    json_response({ id: 7, owner: { login: "o" } }, **FIELDS, "ETag" => '"1"')
  end
end
