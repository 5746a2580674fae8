# frozen_string_literal: true

# Bulk, search, HEAD, errors.
class OpenSearchSDK < SDK
  about "OpenSearch", gem: "opensearch-ruby", over: "Faraday (net_http)"

  HITS = { took: 1, hits: { total: { value: 1 }, hits: [{ _id: "1", _source: { title: "é" } }] } }.freeze

  def respond(request)
    case [request.verb, request.target]
    in ["GET", "/"] then json_answer({ version: { number: "2.19.0", distribution: "opensearch" } })
    in ["POST", "/_bulk"] then json_answer({ errors: false, items: request.body.lines.size })
    in ["POST" | "GET", /_search/] then json_answer(HITS)
    in ["HEAD", "/books"] then answer("")
    in ["HEAD", _] then answer("", status: "404 Not Found")
    in ["GET", _] then not_found({ found: false })
    in ["PUT" | "POST", _] then json_answer({ result: "created" }, status: "201 Created")
    in ["DELETE", _] then json_answer({ acknowledged: true })
    end
  end

  def call
    require "opensearch"
    search = OpenSearch::Client.new(url: url, retry_on_failure: false)
    tell("info") { search.info }
    tell("index") { search.index(index: "books", id: "1", body: { title: "é" }) }
    tell("bulk") { search.bulk(body: [{ index: { _index: "books" } }, { title: "two" }]) }
    tell("search") { search.search(index: "books", body: { query: { match: { title: "é" } } }) }
    tell("exists") { %w[books none].map { |index| search.indices.exists(index: index) } }
    tell("missing") { search.get(index: "books", id: "2") }
    tell("drop") { search.indices.delete(index: "books") }
  end
end
