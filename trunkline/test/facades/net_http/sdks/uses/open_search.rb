# frozen_string_literal: true

# Bulk, search, HEAD, errors.
class OpenSearchSDK < SDK
  about "OpenSearch", gem: "opensearch-ruby", over: "Faraday (net_http)"

  HITS = { took: 1, hits: { total: { value: 1 }, hits: [{ _id: "1", _source: { title: "é" } }] } }.freeze

  def respond(request)
    case [request.verb, request.target]
    in ["GET", "/"] then json_response({ version: { number: "2.19.0", distribution: "opensearch" } })
    in ["POST", "/_bulk"] then json_response({ errors: false, items: request.body.lines.size })
    in ["POST" | "GET", /_search/] then json_response(HITS)
    in ["HEAD", "/books"] then response_bytes("")
    in ["HEAD", _] then response_bytes("", status: "404 Not Found")
    in ["GET", _] then not_found({ found: false })
    in ["PUT" | "POST", _] then json_response({ result: "created" }, status: "201 Created")
    in ["DELETE", _] then json_response({ acknowledged: true })
    end
  end

  def call
    require "opensearch"
    search = OpenSearch::Client.new(url: url, retry_on_failure: false)
    record("info") { search.info }
    record("index") { search.index(index: "books", id: "1", body: { title: "é" }) }
    record("bulk") { search.bulk(body: [{ index: { _index: "books" } }, { title: "two" }]) }
    record("search") { search.search(index: "books", body: { query: { match: { title: "é" } } }) }
    record("exists") { %w[books none].map { |index| search.indices.exists(index: index) } }
    record("missing") { search.get(index: "books", id: "2") }
    record("drop") { search.indices.delete(index: "books") }
  end
end
