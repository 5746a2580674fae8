# frozen_string_literal: true

# Runs WebMock's own examples of Net::HTTP without Trunkline, with install! before WebMock and with install! after it,
# and compares which of them pass. WEBMOCK_SOURCE is a folder with WebMock's source and examples.

require "json"
require_relative "../../../support/network_namespace"

abort "WEBMOCK_SOURCE: must be a directory with WebMock's source" unless ENV.key?("WEBMOCK_SOURCE")
unless NetworkNamespace.available?
  puts "not run: WebMock's examples of Net::HTTP, because they need the namespaces of Linux, to serve public names"
  exit
end

SPEC = File.join(ENV.fetch("WEBMOCK_SOURCE"), "spec/acceptance/net_http/net_http_spec.rb")
HOSTS = "127.0.0.1 localhost status.test google.com www.google.com example.org www.example.com www.example.net\n"
# There is no name server: the lookup of an IPv6 address, which `hosts` does not contain, fails at once.
PROGRAM = <<~RUBY.freeze
  server.close
  require "rspec/core"
  RSpec::Core::Runner.run(["--options", File::NULL, "--format", "json", "-I", #{__dir__.inspect}, #{SPEC.inspect}])
RUBY

# @return [Hash{String => String}] "passed" or "failed", by example
def results(install)
  out, err, = NetworkNamespace.run("ENV['INSTALL'] = #{install.inspect}\n#{PROGRAM}", hosts: HOSTS).to_a
  report = out.lines.find { |line| line.start_with?("{") } or abort "#{install}: #{err}"
  JSON.parse(report).fetch("examples").to_h { |one| ["#{one["id"]} #{one["full_description"]}", one["status"]] }
end

plain, *others = %w[never before after].map { |install| Thread.new { results(install) } }.map(&:value)
puts "WebMock's examples of Net::HTTP: #{plain.size}, #{plain.values.count("passed")} pass"
%w[before after].zip(others) do |install, found|
  different = (plain.to_a | found.to_a).map(&:first).uniq.reject { |name| plain[name] == found[name] }
  different.each { |name| warn "install! #{install} WebMock: #{name}: #{found[name]}, without: #{plain[name]}" }
  abort if different.any?
end
abort "too few pass to say anything" if plain.values.count("passed") < 350
