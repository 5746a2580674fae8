# frozen_string_literal: true

require "open3"
require_relative "certificate_authority"

# OpenSSL's s_server, which can request the client's certificate after a request has arrived: by renegotiation (TLS
# 1.2), or by post-handshake authentication (TLS 1.3). It responds to each request with "known" or "unknown": whether
# the client has sent one.
class CertificateRequestServer
  # Lines that s_server treats as commands.
  COMMANDS = { renegotiate: "r\n", ask_by_renegotiation: "R\n", ask_after_handshake: "c\n" }.freeze
  HANDSHAKE_ENDED = /^Read BLOCK/
  ANSWER_SENT = /^>>> /
  CERTIFICATE_SHOWN = /^<<< .* CertificateVerify$/
  LIMIT = 10 # seconds
  private_constant :HANDSHAKE_ENDED, :ANSWER_SENT, :CERTIFICATE_SHOWN, :LIMIT

  # @param version [String] an option of s_server, such as "-tls1_2"
  # @param before [Array<Symbol>] commands between the arrival of a request and the response; see COMMANDS
  # @param after [Array<Symbol>] commands after the response
  def initialize(version, before: [], after: [])
    @before = before
    @after = after
    @input, @output, @process = Open3.popen2e(
      "openssl", "s_server", "-accept", "127.0.0.1:0", version, "-cert", TestCA.certificate_file(:localhost),
      "-cert_chain", TestCA.certificate_file(:localhost), "-key", TestCA.key_file(:localhost),
      "-CAfile", TestCA.client_authorities_file, "-msg", "-no_resumption_on_reneg"
    )
    @seen = +""
    @port = wait_for(/^ACCEPT 127\.0\.0\.1:(\d+)/)[1]
    @thread = Thread.new { serve }
    @thread.report_on_exception = false
  end

  def url = "https://localhost:#{@port}"

  def stop
    @thread.kill.join
    Process.kill(:KILL, @process.pid)
    @process.join
    [@input, @output].each(&:close)
  end

  private

  def serve
    loop do
      wait_for(/^GET .*\r\n\r\n/m)
      @before.each do |step|
        say(COMMANDS.fetch(step))
        wait_for(HANDSHAKE_ENDED)
      end
      client = @seen.match?(CERTIFICATE_SHOWN) ? "known" : "unknown"
      say("HTTP/1.1 200 OK\r\nContent-Length: #{client.length}\r\n\r\n#{client}")
      wait_for(ANSWER_SENT) # otherwise s_server would send the command's line as part of the body
      @after.each { |step| say(COMMANDS.fetch(step)) }
    end
  end

  def say(text)
    @input.write(text)
    @input.flush
  end

  # @return [MatchData] the match in the output since the last match
  def wait_for(pattern)
    @from ||= 0
    limit = now + LIMIT
    until (match = pattern.match(@seen, @from))
      raise "no #{pattern.inspect} in: #{@seen}" unless @output.wait_readable([limit - now, 0].max)

      @seen << @output.readpartial(4096)
    end
    @from = match.end(0)
    match
  end

  def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
end
