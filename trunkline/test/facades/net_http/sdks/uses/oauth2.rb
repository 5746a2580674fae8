# frozen_string_literal: true

# Grants, a refresh, calls with the token, a redirect, an error.
class Oauth2SDK < SDK
  about "oauth2", gem: "oauth2", over: "Faraday (net_http)", common: true

  def respond(request)
    case [request.verb, request.target]
    in ["POST", "/oauth/token"] then granted(request)
    in ["GET", "/moved"] then redirect("/api/me")
    in ["GET", "/api/me?a=1"] | ["GET", "/api/me"] then json_answer({ token: request["authorization"] })
    in _ then not_found
    end
  end

  def call
    require "oauth2"
    client = OAuth2::Client.new("id", "secret", site: url)
    token = nil
    tell("client credentials") { (token = client.client_credentials.get_token).token }
    tell("code") { client.auth_code.get_token("code", redirect_uri: "http://localhost/callback").refresh_token }
    tell("refresh") { OAuth2::AccessToken.new(client, "old", refresh_token: "r").refresh!.token }
    tell("call") { token.get("/api/me", params: { a: 1 }).parsed }
    tell("redirect") { token.get("/moved").parsed }
    tell("refused") { client.password.get_token("user", "wrong") }
    tell("missing") { token.get("/api/none") }
  end

  private

  def granted(request)
    if request.body.include?("wrong")
      return json_answer({ error: "invalid_grant", error_description: "no" }, status: "401 Unauthorized")
    end

    json_answer({ access_token: "at", refresh_token: "rt", token_type: "bearer", expires_in: 3600 })
  end
end
