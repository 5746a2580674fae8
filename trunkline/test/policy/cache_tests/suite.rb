# frozen_string_literal: true

require "json"
require "trunkline"
require_relative "../../support/free_port"

# Runs a checkout of http-tests/cache-tests on a client with cache:, and compares what fails with FAILING.
class CacheTestsSuite
  # Tests that fail, and why that is meant.
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
    # Tests of the kind "check" ask what a cache does: no answer is wrong.
    def failed? = kind != "check" && outcome != "pass"

    def to_s = "#{id} (#{kind}): #{outcome}: #{message}"
  end

  # @param checkout [String] its path
  def initialize(checkout)
    @checkout = checkout
    @lock = Mutex.new
  end

  # @return [Array<Result>]
  def run
    requests, told = IO.pipe
    answered, @answers = IO.pipe
    port = FreePort.take
    node = Process.spawn("node", "--no-warnings", "#{__dir__}/run.mjs", @checkout, port.to_s,
                         in: answered, 3 => told, out: File::NULL)
    [told, answered].each(&:close)
    serve(requests)
  ensure
    @answers.close
    Process.wait(node)
  end

  # @return [Array<String>] what is not as FAILING says
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
      asked = JSON.parse(line)
      found = asked["results"]
      return found.map { |one| Result.new(*one.values_at("id", "kind", "outcome", "message")) } if found

      Thread.new { answer(asked["id"]) { fetch(client, asked) } }
    end
    raise "node ended without results"
  ensure
    client.close
  end

  def fetch(client, asked)
    headers = asked["headers"].map { |name, value| [name, value.encode(Encoding::ISO_8859_1).b] }
    options = { headers: headers, follow: asked["follow"], body: asked["body"] }.compact
    response = client.request(asked["method"], asked["url"], options)
    { status: response.status, headers: texts(response.headers), body: response.body.b.force_encoding(Encoding::UTF_8),
      interim: response.early_hints.map { |hints| [103, texts(hints)] } }
  end

  # Fields are bytes; JavaScript reads them as ISO-8859-1.
  def texts(headers)
    headers.map { |name, value| [name, value.b.force_encoding(Encoding::ISO_8859_1).encode(Encoding::UTF_8)] }
  end

  def answer(id)
    result = begin
      yield
    rescue Trunkline::Error => error
      { error: error.message }
    end
    @lock.synchronize { @answers.puts(JSON.generate(id: id, **result)) }
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
