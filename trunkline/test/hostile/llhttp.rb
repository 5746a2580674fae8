# frozen_string_literal: true

require "json"
require_relative "served_cases"

# The responses in llhttp's own tests (github.com/nodejs/llhttp, test/response/*.md), read from a checkout.
#
#   ruby llhttp.rb CHECKOUT
class LlhttpCases
  BLOCKS = /<!--\s*meta=(\{.*?\})\s*-->\s*```http\n(.*?)```\s*```log\n(.*?)```/m
  ESCAPES = { "\\r" => "\r", "\\n" => "\n", "\\t" => "\t", "\\f" => "\f" }.freeze
  # Differences of Trunkline, with the reasons: the beginning of a line that reports a difference => the reason.
  REASONS = {
    "connection: HTTP 101 response" => "101 is accepted only if the request asked for an upgrade (RFC 9110 15.2.2)",
    "connection: HTTP 100 first" => "blank lines before a status line are not skipped",
    "connection: HTTP 103 first" => "103 is not the final response, and the response after it is truncated",
    "invalid: Invalid space after start line" =>
      "lines after the status line that begin with a space are skipped (RFC 9112 2.2)",
    "sample: No carriage ret" => "a line may end in LF alone (RFC 9112 2.2)",
    "sample: Response starting with CRLF" => "blank lines before a status line are not skipped",
    "transfer-encoding: No extension after semicolon" => "chunk extensions are skipped without checks"
  }.freeze

  # @param folder [String] the folder of the checkout
  # @return [Array<ServedCases::Case>] the cases of strict parsing
  def self.read(folder)
    Dir["#{folder}/test/response/*.md"].flat_map do |file|
      File.read(file).split(/^## /).drop(1).flat_map { |section| section_cases(File.basename(file, ".md"), section) }
    end
  end

  def self.section_cases(file, section)
    title = section.lines.first.strip
    section.scan(BLOCKS).filter_map do |meta, input, log|
      meta = JSON.parse(meta)
      make("#{file}: #{title}", meta["skipBody"] ? "HEAD" : "GET", input, log) if meta["type"] == "response"
    end
  end

  def self.make(name, verb, input, log)
    first = log[/\A.*?message complete$/m] || log
    ServedCases::Case.new(name: name, verb: verb, bytes: bytes_of(input), error: first.match?(/ error code=/),
                          status: first[/headers complete status=(\d+)/, 1]&.to_i, body: body_of(first),
                          complete: first.include?("message complete"))
  end

  # Converts the notation of llhttp's tests: each line ends in CRLF, unless a backslash joins it to the next.
  def self.bytes_of(input)
    text = input.delete_suffix("\n").gsub("\\\n", "").gsub("\n", "\r\n")
    text.b.gsub(/\\[rntf]|\\x\h\h/n) { |escape| ESCAPES.fetch(escape) { [escape[2..]].pack("H2") } }
  end

  def self.body_of(log)
    log.scan(/span\[body\]=(?:"(.*)"|(cr|lf))$/).map { |text, sign| text || (sign == "cr" ? "\r" : "\n") }.join
  end
end

if $PROGRAM_NAME == __FILE__
  cases = LlhttpCases.read(ARGV.fetch(0))
  abort "there are no cases in #{ARGV.first}/test/response" if cases.empty?
  wrong = ServedCases.new("llhttp", cases, LlhttpCases::REASONS).run
  puts wrong
  exit wrong.empty?
end
