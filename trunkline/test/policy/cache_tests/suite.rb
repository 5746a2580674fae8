# frozen_string_literal: true

require "json"
require "trunkline"
require_relative "../../support/free_port"

# Runs a checkout of http-tests/cache-tests on a client with cache:, and compares the failures with FAILING.
class CacheTestsSuite
  # Tests that fail intentionally, with the reasons.
  part = "a part is not kept; parts are given of what is kept whole"
  order = "the order of a field's members can have a meaning"
  unanswered = "a call to a server that gives no answer raises; the test waits for an answer of a proxy"
  FAILING = {
    "stale-close-must-revalidate" => unanswered,
    "stale-close-no-cache" => unanswered,
    "headers-store-Transfer-Encoding" => "an answer with a transfer coding that nobody knows is refused",
    "cc-resp-immutable-fresh" => "who sends max-age=0 asks the server, whatever the server has said before",
    "method-POST" => "the answer to a POST is not kept",
    "vary-normalise-lang-order" => order,
    "vary-normalise-lang-select" => order,
    "conditional-lm-fresh-no-lm" => "what is newer than the caller's copy is not the same",
    "partial-store-partial-reuse-partial" => part,
    "partial-store-partial-reuse-partial-byterange" => part,
    "partial-store-partial-reuse-partial-absent" => part,
    "partial-store-partial-reuse-partial-suffix" => part,
    "partial-store-partial-complete" => part,
    "other-cookie" => "what one cookie fetched is not given to another, nor to a request without it",
    "interim-102" => "callers are told of 103 alone"
  }.freeze

  Result = Struct.new(:id, :kind, :outcome, :message) do
    # Tests of the kind "check" only record a cache's behaviour: no outcome is wrong.
    def failed? = kind != "check" && outcome != "pass"

    def to_s = "#{id} (#{kind}): #{outcome}: #{message}"
  end

  # @param checkout [String] the path of the checkout
  def initialize(checkout)
    @checkout = checkout
    @lock = Mutex.new
  end

  # @return [Array<Result>]
  def run
    requests, requests_out = IO.pipe
    responses_in, @results = IO.pipe
    port = FreePort.take
    node = Process.spawn("node", "--no-warnings", "#{__dir__}/run.mjs", @checkout, port.to_s,
                         in: responses_in, 3 => requests_out, out: File::NULL)
    [requests_out, responses_in].each(&:close)
    serve(requests)
  ensure
    @results.close
    Process.wait(node)
  end

  # @return [Array<String>] differences from FAILING
  def self.differences(results)
    failed = results.select(&:failed?)
    known = results.map(&:id)
    failed.reject { |result| FAILING.key?(result.id) }.map { |result| "fails: #{result}" } +
      (FAILING.keys - failed.map(&:id)).map { |id| known.include?(id) ? "passes: #{id}" : "is no test any more: #{id}" }
  end

  private

  def serve(requests)
    client = Trunkline.new(timeout: 10, cache: { heuristic: 0.1 })
    requests.each_line do |line|
      message = JSON.parse(line)
      found = message["results"]
      return found.map { |one| Result.new(*one.values_at("id", "kind", "outcome", "message")) } if found

      Thread.new { report(message["id"]) { fetch(client, message) } }
    end
    raise "node ended without results"
  ensure
    client.close
  end

  def fetch(client, message)
    headers = message["headers"].map { |name, value| [name, value.encode(Encoding::ISO_8859_1).b] }
    options = { headers: headers, follow: message["follow"], body: message["body"] }.compact
    response = client.request(message["method"], message["url"], options)
    { status: response.status, headers: texts(response.headers), body: response.body.b.force_encoding(Encoding::UTF_8),
      interim: response.early_hints.map { |hints| [103, texts(hints)] } }
  end

  # Field values are bytes, which JavaScript reads as ISO-8859-1.
  def texts(headers)
    headers.map { |name, value| [name, value.b.force_encoding(Encoding::ISO_8859_1).encode(Encoding::UTF_8)] }
  end

  def report(id)
    result = begin
      yield
    rescue Trunkline::Error => error
      { error: error.message }
    end
    @lock.synchronize { @results.puts(JSON.generate(id: id, **result)) }
  end
end

if $PROGRAM_NAME == __FILE__
  results = CacheTestsSuite.new(ARGV.fetch(0)).run
  counts = results.group_by(&:kind).transform_values { |of_kind| of_kind.map(&:outcome).tally }
  counts.each { |kind, outcomes| puts "#{kind}: #{outcomes.map { |name, count| "#{count} #{name}" }.join(", ")}" }
  CacheTestsSuite::FAILING.each { |id, why| puts "fails, and is meant to: #{id}: #{why}" }
  differences = CacheTestsSuite.differences(results)
  abort ["not as the list in #{__FILE__} says:", *differences].join("\n") unless differences.empty?
end
