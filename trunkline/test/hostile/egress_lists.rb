# frozen_string_literal: true

require "ipaddr"
require "trunkline"

# Tries each URL in the Markdown files of a folder, which list ways around guards against server-side request forgery,
# with `egress: :public`: no request may be sent to any of them.
#
#   ruby egress_lists.rb FOLDER
class EgressLists
  CODE = /^```.*?^```|`[^`\n]+`/m
  URL = %r{[a-z]+:(?://)?[^\s`"'<>|)]+}i
  SAFE = [Trunkline::InvalidRequest, Trunkline::EgressRefused, Trunkline::ResolveError].freeze

  def initialize(folder)
    files = Dir[File.join(folder, "**/*.md")]
    @urls = files.flat_map { |file| File.read(file, encoding: "UTF-8").scan(CODE) }.flat_map { |code| code.scan(URL) }
      .grep(%r{//}).uniq
  end

  # Nothing is called without the guard: the lists contain addresses that return credentials. Public hosts belong to
  # others and are not called at all.
  #
  # @return [Array<String>] the entries that got through
  def run
    client = Trunkline.new(egress: :public, timeout: 2)
    public_hosts, others = @urls.partition { |url| public?(url) }
    outcomes = others.to_h { |url| [url, outcome_of(client, url)] }
    counts = outcomes.values.tally.map { |outcome, count| "#{count} #{outcome}" }
    puts "#{@urls.size} entries: #{[*counts, "#{public_hosts.size} public, not called"].join(", ")}"
    abort "no list, or the guard refused none of it" unless outcomes.value?(Trunkline::EgressRefused)

    outcomes.reject { |_, outcome| SAFE.include?(outcome) }.map { |url, outcome| "#{url}: #{outcome}" }
  ensure
    client&.close
  end

  private

  def outcome_of(client, url)
    client.get(url).status
  rescue Trunkline::Error, Trunkline::InvalidRequest => error
    unresolved = error.is_a?(Trunkline::TimeoutError) && %i[dns resolve].include?(error.phase)
    unresolved ? Trunkline::ResolveError : error.class
  end

  # Checks the addresses of the system's resolver, which also accepts unusual notations.
  def public?(url)
    host = url[%r{//(?:[^/@]*@)?(\[[^\]]+\]|[^:/?#]+)}, 1].to_s.delete("[]")
    addresses = Addrinfo.getaddrinfo(host, nil).map { |address| IPAddr.new(address.ip_address).native }
    addresses.any? && addresses.none? { |one| one.private? || one.loopback? || one.link_local? || one.to_i.zero? }
  rescue SocketError
    false
  end
end

if $PROGRAM_NAME == __FILE__
  through = EgressLists.new(ARGV.fetch(0)).run
  puts through
  exit through.empty?
end
