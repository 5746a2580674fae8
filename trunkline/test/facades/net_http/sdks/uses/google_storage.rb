# frozen_string_literal: true

require "digest"
require "zlib"

# A service account's token, a compressed response, a resumed upload, a download in pieces, an error.
class GoogleStorageSDK < SDK
  about "google-apis (Storage)", gem: "google-apis-storage_v1", over: "Faraday (net_http)", common: true

  CONTENT = ("content of the object\n" * 20_000).freeze

  def respond(request)
    case [request.verb, request.target]
    in ["POST", "/token"] then json_response({ access_token: "at", expires_in: 3600, token_type: "Bearer" })
    in ["POST", %r{\A/upload/}] then resumable(request)
    in ["PUT", _] then json_response({ name: "new", size: request.body.bytesize.to_s })
    in ["GET", /alt=media/] then response_bytes(CONTENT, "Content-Type" => "text/plain")
    in ["GET", %r{/b/missing}] then not_found({ error: { code: 404, message: "No such bucket" } })
    in ["GET", %r{/o\z}] then compressed({ items: [{ name: "one", size: "3" }], kind: "storage#objects" })
    in ["GET", _] then json_response({ name: "one", size: "3" })
    in ["DELETE", _] then "HTTP/1.1 204 No Content\r\n\r\n"
    end
  end

  def call
    require "google/apis/storage_v1"
    storage = service
    record("list") { storage.list_objects("bucket").items.map(&:name) }
    record("get") { storage.get_object("bucket", "one").size }
    record("download") do
      Digest::MD5.hexdigest(StringIO.new.tap { |io| storage.get_object("bucket", "one", download_dest: io) }.string)
    end
    record("upload") { storage.insert_object("bucket", name: "new", upload_source: StringIO.new(CONTENT)).size }
    record("delete") { storage.delete_object("bucket", "one") }
    record("missing") { storage.get_bucket("missing") }
  end

  private

  def compressed(value)
    response_bytes(Zlib.gzip(JSON.generate(value)), "Content-Type" => "application/json; charset=UTF-8",
                                                    "Content-Encoding" => "gzip")
  end

  def resumable(request)
    response_bytes("", "Location" => "http://#{request["host"]}/upload/storage/v1/b/bucket/o?upload_id=1",
                       "X-Goog-Upload-URL" => "http://#{request["host"]}/upload/storage/v1/b/bucket/o?upload_id=1",
                       "X-Goog-Upload-Status" => "active")
  end

  def service
    Google::Apis::StorageV1::StorageService.new.tap do |service|
      service.root_url = "#{url}/"
      service.authorization = Signet::OAuth2::Client.new(
        token_credential_uri: "#{url}/token", client_id: "c", client_secret: "s", refresh_token: "r"
      )
      service.request_options.retries = 0
    end
  end
end
