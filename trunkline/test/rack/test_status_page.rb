# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../../../rakelib/support/snippets"
require "json"

# The examples of docs/stats.md, in Puma.
class TestStatusPage < TrunklineTest
  PAGE = File.expand_path("../../../docs/stats.md", __dir__)
  # https://prometheus.io/docs/instrumenting/exposition_formats/
  SAMPLE = /\A[a-z_]+(?:\{origin="(?:[^"\\\n]|\\[\\"n])*"\})? -?[0-9.]+\z/
  TYPE = /\A# TYPE [a-z_]+ (?:gauge|counter)\z/

  def setup
    super
    page = Module.new
    Snippets.new(PAGE).all.each do |snippet|
      page.module_eval(snippet.code.gsub(/^[^\n]+ # => .*$/, ""), PAGE, snippet.line)
    end
    @status = serve_rack(&page.const_get(:StatusPage))
    @metrics = page.const_get(:TrunklineMetrics)
    server = serve("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n")
    client(server.url, breaker: true, retry: true, cache: true).get("/")
    @origin = server.address
  end

  def test_the_text_for_prometheus
    text = client(@status.url).get("/metrics").body
    text.each_line(chomp: true) { |line| assert_match(line.start_with?("#") ? TYPE : SAMPLE, line) }
    assert_includes text.lines, "trunkline_breaker_state{origin=\"#{@origin}\"} 0\n"
    assert_match(/^trunkline_retries_total\{origin="#{@origin}"\} [1-9]/, text)
    assert_match(/^trunkline_connections_in_use [1-9]/, text)
    assert_match(SAMPLE, "#{@metrics.labelled("a", "b\"\\\n")} 1")
  end

  def test_the_status_as_json
    status = JSON.parse(client(@status.url).get("/status").body)
    assert_equal %w[breakers budgets buffered_bytes caches connections_in_use hedges limits max_buffered_bytes
                    max_connections rates], status.keys.sort
    assert_equal "closed", status["breakers"][@origin]["state"]
    assert_equal 404, client(@status.url).get("/other").status
  end

  # Each key of the stats has a row in the page's table.
  def test_the_page_has_every_key
    rows = File.readlines(PAGE).grep(/\A\| `/)
    names, of_process = [rows, rows.grep(/\| yes \|/)].map do |some|
      some.flat_map { |row| row[/\A\|[^|]+/].scan(/`(\w+)`/) }.flatten
    end
    assert_equal client("http://a.test").stats.keys.map(&:to_s).sort, names.sort
    assert_equal Trunkline.stats.keys.map(&:to_s).sort, of_process.sort
  end
end
