# frozen_string_literal: true

require "bundler"
require "json"
require "open3"
require "rbconfig"
require "tmpdir"
require_relative "../../../support/separate_bundle"
require_relative "echo_server"

# Sends the same requests with the real Typhoeus and with trunkline/typhoeus (probe.rb), each in a separate process,
# and writes the differences to docs/typhoeus.md.
class Differences
  ROOT = File.expand_path("../../../../..", __dir__)
  PAGE = File.join(ROOT, "docs/typhoeus.md")
  PROBE = File.join(__dir__, "probe.rb")

  # The outcome of one case.
  Outcome = Struct.new(:given, :return_code, :status, :request_line, :body) do
    def refused? = return_code == "refused"

    # Describes the outcome with the lines of the request that the other library did not send. The server echoes the
    # request as the body.
    def described(other)
      ["`#{return_code}`, #{status}",
       *(bodies?(other) ? lines - other.lines : "#{"no " if body.empty?}body")].join(", ")
    end

    def lines = [request_line, *body.lines(chomp: true)].compact.reject(&:empty?).uniq.map { |line| "`#{line}`" }
    def bodies?(other) = body.empty? == other.body.empty?
  end

  def initialize
    EchoServer.run { |url| Dir.mktmpdir { |folder| compare(url, folder) } }
  end

  # @return [String] the version of the libcurl that Typhoeus used
  attr_reader :libcurl

  # @return [Array<String>] cases that trunkline/typhoeus refuses and Typhoeus does not
  def refused = others.select { |name, _| @ours[name].refused? }.keys

  # @return [Array<String>] cases that both refuse, including options that another libcurl may support
  def refused_by_both = @theirs.select { |name, theirs| theirs.refused? && @ours[name].refused? }.keys

  # @return [Hash{String => Outcome}] cases that both accept, with different results
  def different = others.reject { |name, _| @ours[name].refused? }

  # @return [Array<String>] the public methods that trunkline/typhoeus lacks, such as "Typhoeus::Hydra#multi"
  def missing = (@their_methods - @our_methods).sort

  # @return [Integer] the number of public methods of both
  def common = (@their_methods & @our_methods).size

  # @return [Integer] the number of cases with the same result
  def same = @theirs.size - others.size - @theirs.values.count(&:refused?)

  # @return [String] the text of docs/typhoeus.md
  def page
    <<~MARKDOWN
      # Typhoeus: requests and options, compared

      Written by `rake typhoeus:differences`, which sends the same requests with Typhoeus 1.7.1 (libcurl #{libcurl})
      and with `trunkline/typhoeus`: every method with and without a body, and a GET with each of Ethon's easy options.
      Of #{same + refused.size + different.size} cases that Typhoeus accepts, #{same} have the same bytes and result.
      [switching.md](switching.md#typhoeus) describes responses, redirects and errors.

      ## Different

      | | given | Typhoeus | Trunkline |
      |---|---|---|---|
      #{different.map { |name, theirs| row(name, theirs) }.join("\n")}

      ## Refused options

      Unless their value switches them off, these raise `Typhoeus::Errors::UnsupportedOption`:

      #{wrapped(refused.map { |name| "`#{name}`" })}

      With this libcurl, or with the values that were tried, both refuse:

      #{wrapped(refused_by_both.map { |name| "`#{name}`" })}

      ## Missing methods

      Of the #{common + missing.size} public methods of Typhoeus and its classes, #{common} are available. These are not:

      #{wrapped(missing.map { |name| "`#{name}`" })}
    MARKDOWN
  end

  private

  # @param folder [String] a folder into which libcurl may write because of an option
  def compare(url, folder)
    cases = File.join(folder, "cases")
    ruby = [RbConfig.ruby, "-I", File.join(ROOT, "trunkline/lib")]
    @theirs, @their_methods, @libcurl =
      outcomes(folder, SeparateBundle.environment("typhoeus"), "bundle", "exec", "ruby", PROBE, "typhoeus", url, cases)
    @ours, @our_methods, = outcomes(folder, {}, *ruby, PROBE, "trunkline/typhoeus", url, cases)
  end

  def others
    @theirs.reject { |name, theirs| theirs.refused? || theirs == @ours[name] }
  end

  def row(name, theirs)
    ours = @ours[name]
    "| #{name} | `#{theirs.given}` | #{theirs.described(ours)} | #{ours.described(theirs)} |"
  end

  def wrapped(words)
    words.join(", ").gsub(/(.{1,118})(?: |\z)/, "\\1\n").chomp
  end

  # @return [Array] outcomes by name, the public methods, the version of the library
  def outcomes(folder, environment, *command)
    out, err, status = Bundler.with_unbundled_env { Open3.capture3(environment, *command, chdir: folder) }
    raise "#{command.join(" ")}: #{out.lines.last}#{err}" unless status.success?

    version, methods, *lines = out.lines(chomp: true)
    [lines.to_h { |line| JSON.parse(line).then { |name, *rest| [name, Outcome.new(*rest)] } }, JSON.parse(methods),
     version]
  end
end
