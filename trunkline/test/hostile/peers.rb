# frozen_string_literal: true

require "digest"
require "json"
require "minitest"
require_relative "../support/scripted_server"
require_relative "cases"
require "trunkline/lab/preloaded"

# What other clients do with the cases of HTTP/1.1, each in a process of its own that is killed after LIMIT seconds;
# kept in peers.json, for docs/safety.md. Rake task: safety:peers.
module HostilePeers
  KEPT = File.join(__dir__, "peers.json")
  TIMEOUT = 2 # seconds, of the client
  LIMIT = 6
  OK = Digest::SHA256.hexdigest("ok")
  # An endless body is not sent: most clients would take it until the machine has no memory.
  ROWS = HostileCases::ALL.reject do |row|
    row.warm || row.only || row.verb != :get || row.group == "Redirects" || %i[endless poisoned].include?(row.name)
  end

  module_function

  # @return [Hash] what #write keeps
  def run
    threads = Trunkline::Lab::Peer.all.reject { |peer| peer.ours? || peer.missing }.map do |peer|
      Thread.new { measure(peer) }
    end
    threads.map(&:value).compact.sort_by { |found| found["client"] }
  end

  def measure(peer)
    preloaded = Trunkline::Lab::Preloaded.new(peer)
    preloaded.wait_until_it_is_loaded
    version = preloaded.process(base: Trunkline::Lab::Preloaded::NOWHERE) { |process| peer.versions(process) }
    rows = ROWS.to_h { |row| [row.name, told(preloaded, row)] }
    { "client" => peer.label, "version" => version || "of Ruby #{RUBY_VERSION}", "rows" => rows }
  rescue Trunkline::Lab::Bundle::Failed, Trunkline::Lab::PeerProcess::Failed => error
    warn "safety:peers: #{peer.label} not run: #{error.message}"
  ensure
    preloaded&.stop
  end

  # @return [String] "answer", "N bytes" of another body, "error: Class", "no end", "crash"
  def told(preloaded, row)
    server = ScriptedServer.new { |connection| row.script.call(connection) while connection.read_request }
    preloaded.process(base: server.url.chomp("/"), timeout: TIMEOUT) do |process|
      answer = process.ask(:probe, call: { path: "/" }, keep: 0, limit: LIMIT)
      answer[:digest] == OK ? "answer" : "#{answer[:bytes]} bytes"
    end
  rescue Trunkline::Lab::PeerProcess::Failed => error
    case error.message
    when /\Ano answer within/ then "no end"
    when /\Aended without/ then "crash"
    else "error: #{error.message[/\A[\w:]+(?=:)/]}"
    end
  ensure
    stop(server)
  end

  def stop(server)
    server&.stop
  rescue StandardError
    nil # a script that the client left
  end

  def write = File.write(KEPT, "#{JSON.pretty_generate(run)}\n")
end
