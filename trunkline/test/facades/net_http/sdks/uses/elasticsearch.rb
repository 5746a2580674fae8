# frozen_string_literal: true

# Bulk, search, HEAD, scripts; responses are compressed and have the header field that identifies Elasticsearch.
class ElasticsearchSDK < SDK
  about "Elasticsearch", gem: "elasticsearch", over: "Faraday (net_http)", common: true

  HITS = { took: 1, hits: { total: { value: 1 }, hits: [{ _id: "1", _source: { title: "é" } }] } }.freeze

  FIELDS = { "Content-Type" => "application/vnd.elasticsearch+json;compatible-with=9",
             "X-Elastic-Product" => "Elasticsearch" }.freeze

  def respond(request)
    case [request.verb, request.target]
    in ["GET", "/"] then said({ name: "node", version: { number: "9.0.0", build_flavor: "default" } })
    in ["POST", "/_bulk"] then said({ errors: false, items: request.body.lines.size })
    in ["POST" | "GET", /_search/] then said(HITS)
    in ["HEAD", "/books/_doc/1"] then said({})
    in ["HEAD", _] then said({}, "404 Not Found")
    in ["GET", "/books/_doc/2"] then said({ found: false }, "404 Not Found")
    in ["PUT" | "POST", _] then said({ result: "created" }, "201 Created")
    in ["DELETE", _] then said({ acknowledged: true })
    end
  end

  def call
    require "elasticsearch"
    search = Elasticsearch::Client.new(url: url, log: false, retry_on_failure: false)
    record("info") { search.info.body }
    record("index") { search.index(index: "books", id: 1, body: { title: "é" }).body }
    record("bulk") { search.bulk(body: [{ index: { _index: "books" } }, { title: "two" }]).body }
    record("search") { search.search(index: "books", body: { query: { match: { title: "é" } } }).body }
    record("exists") { [search.exists?(index: "books", id: 1), search.exists?(index: "books", id: 3)] }
    record("missing") { search.get(index: "books", id: 2) }
    record("drop") { search.indices.delete(index: "books").status }
  end

  private

  def said(value, status = "200 OK")
    response_bytes(JSON.generate(value), status: status, **FIELDS)
  end
end
