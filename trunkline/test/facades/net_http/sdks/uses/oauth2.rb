# frozen_string_literal: true

# Grants, a refresh, calls with the token, a redirect, an error.
class Oauth2SDK < SDK
  about "oauth2", gem: "oauth2", over: "Faraday (net_http)", common: true

  def respond(request)
    case [request.verb, request.target]
    in ["POST", "/oauth/token"] then granted(request)
    in ["GET", "/moved"] then redirect("/api/me")
    in ["GET", "/api/me?a=1"] | ["GET", "/api/me"] then json_response({ token: request["authorization"] })
    in _ then not_found
    end
  end

  def call
    require "oauth2"
    client = OAuth2::Client.new("id", "secret", site: url)
    token = nil
    record("client credentials") { (token = client.client_credentials.get_token).token }
    record("code") { client.auth_code.get_token("code", redirect_uri: "http://localhost/callback").refresh_token }
    record("refresh") { OAuth2::AccessToken.new(client, "old", refresh_token: "r").refresh!.token }
    record("call") { token.get("/api/me", params: { a: 1 }).parsed }
    record("redirect") { token.get("/moved").parsed }
    record("refused") { client.password.get_token("user", "wrong") }
    record("missing") { token.get("/api/none") }
  end

  private

  def granted(request)
    if request.body.include?("wrong")
      return json_response({ error: "invalid_grant", error_description: "no" }, status: "401 Unauthorized")
    end

    json_response({ access_token: "at", refresh_token: "rt", token_type: "bearer", expires_in: 3600 })
  end
end
