# frozen_string_literal: true

require "json"
require "tempfile"
require_relative "../../trunkline/test/support/separate_bundle"
require_relative "../../trunkline/test/support/puma_server"

# The examples of the documentation: every ```ruby block of a page runs, in order, in one process for the page, as a
# reader would type them one after the other with trunkline loaded. The conventions are:
# - https://api.test is replaced by the address of a local server that responds to every request with a
#   JSON object {method, path, query, headers, body}, or with status <code> below /status/<code>.
#   `url` is that server's address, for the rare example that needs it by name.
#   Below /slow it responds after a second.
# - <!-- setup ... --> contains Ruby that runs in order with the examples, and that readers do not see.
# - ```ruby gems:agents runs in a separate process, with the gems of gemfiles/agents.
# - ```ruby since:3.3 runs on that Ruby and newer ones, and is only parsed on others.
# ExampleOutput compares the output that an example shows ("# => value", "# prints: text") with its actual output.
class Snippets
  FENCE = /^```ruby(?<flags>[^\n]*)\n(?<code>.*?)^```$|^<!-- setup\n(?<setup>.*?)^-->$/m
  VALUE = /^(?<indent> *)(?<code>\S.*?) +# => (?<text>.*)$/
  PRINTS = /^ *# prints: (?<text>.*)$/
  PLACEHOLDER = "https://api.test"

  ROOT = File.expand_path("../..", __dir__)

  # gems: the folder of gemfiles/ with whose gems the snippet runs, or nil; since: a Ruby version, or nil
  Snippet = Struct.new(:code, :line, :gems, :since, keyword_init: true) do
    def run? = since.nil? || Gem::Version.new(RUBY_VERSION) >= Gem::Version.new(since)
  end

  # The local server's response.
  ECHO = lambda do |environment|
    sleep(1) if environment["PATH_INFO"].start_with?("/slow")
    status = environment["PATH_INFO"][%r{\A/status/(\d{3})\z}, 1] || "200"
    names = environment.select { |name, _| name.start_with?("HTTP_") }
    body = JSON.generate(method: environment["REQUEST_METHOD"], path: environment["PATH_INFO"],
                         query: environment["QUERY_STRING"], headers: names, body: environment["rack.input"].read)
    [status.to_i, { "content-type" => "application/json" }, [body]]
  end

  # Yields the address of a server that responds with ECHO.
  def self.with_server
    server = PumaServer.new(&ECHO)
    yield server.url("").chomp("/")
  ensure
    server&.stop
  end

  attr_reader :page

  def initialize(page)
    @page = page
  end

  def all
    text = File.read(page)
    text.to_enum(:scan, FENCE).map do
      match = Regexp.last_match
      flags = match[:flags].to_s
      Snippet.new(code: match[:code] || match[:setup], line: match.pre_match.count("\n") + 2,
                  gems: flags[/gems:(\w+)/, 1], since: flags[/since:([\d.]+)/, 1])
    end
  end

  # Runs up to `first` blocks with `ruby` (a command and its arguments) against the server at `url`.
  # Returns how many ran; raises at the first that fails, with its page and line in the backtrace.
  def run(url:, ruby:, first: nil)
    chosen = first ? all.first(first) : all
    parse(chosen.reject(&:run?))
    runnable = chosen.select(&:run?)
    apart, together = runnable.partition(&:gems)
    execute(program(together, url), ruby) unless together.empty?
    apart.each { |snippet| execute(program([snippet], url), ruby, snippet.gems) }
    runnable.size
  end

  private

  def parse(snippets)
    snippets.each { |snippet| RubyVM::InstructionSequence.compile(snippet.code, page, page, snippet.line) }
  end

  # `eval` with the page's name and line, in one binding, makes errors refer to the page.
  def program(snippets, url)
    library = File.expand_path("example_output", __dir__)
    "require \"trunkline\"\nrequire #{library.dump}\nExampleOutput.url = #{url.dump}\n" \
      "ExampleOutput.placeholder = #{PLACEHOLDER.dump}\ndef url = #{url.dump}\nreader = binding\n" \
      "#{snippets.map { |snippet| step(snippet, url) }.join("\n")}\n"
  end

  def step(snippet, url)
    place = "#{page}:#{snippet.line}"
    code = snippet.code.gsub(PLACEHOLDER, url).gsub(VALUE) do
      match = Regexp.last_match
      "#{match[:indent]}ExampleOutput.value((#{match[:code]}), #{match[:text].dump}, #{place.dump})"
    end
    lines = snippet.code.scan(PRINTS).flatten
    run = "eval(#{code.dump}, reader, #{page.dump}, #{snippet.line})"
    lines.empty? ? run : "ExampleOutput.output(#{lines}, #{place.dump}) { #{run} }"
  end

  def execute(program, ruby, gems = nil)
    Tempfile.create(["snippets", ".rb"]) do |file|
      file.write(program)
      file.flush
      gems ? execute_apart(file.path, ruby, gems) : system(*ruby, file.path, chdir: Dir.tmpdir, exception: true)
    end
  end

  # Warnings are off, since those gems produce some.
  def execute_apart(path, ruby, gems)
    unless SeparateBundle.installed?(gems)
      return puts "not run: an example of #{page}: the gems of gemfiles/#{gems} could not be installed"
    end

    environment = SeparateBundle.environment(gems)
    command = ["bundle", "exec", *ruby, "-W0", "-I", "#{ROOT}/trunkline/lib", path]
    Bundler.with_unbundled_env { system(environment, *command, chdir: Dir.tmpdir, exception: true) }
  end
end
