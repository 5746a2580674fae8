# frozen_string_literal: true

# Runs WebMock's own examples of Net::HTTP without Trunkline, with install! before WebMock and with install! after it,
# and compares which of them pass. WEBMOCK_SOURCE is a checkout of WebMock, because its gem contains no examples.

require "json"
require_relative "../../../support/own_names"

abort "WEBMOCK_SOURCE: must be a directory with WebMock's source" unless ENV.key?("WEBMOCK_SOURCE")
abort "WebMock's examples need the namespaces of Linux, to serve public names" unless OwnNames.available?

SPEC = File.join(ENV.fetch("WEBMOCK_SOURCE"), "spec/acceptance/net_http/net_http_spec.rb")
HOSTS = "127.0.0.1 localhost status.test google.com www.google.com example.org www.example.com www.example.net\n"
PROGRAM = <<~RUBY.freeze
  require "rspec/core"
  RSpec::Core::Runner.run(["--options", File::NULL, "--format", "json", "-I", #{__dir__.inspect}, #{SPEC.inspect}])
RUBY

# @return [Hash{String => String}] "passed" or "failed", by example
def results(install)
  ENV["INSTALL"] = install
  out, err, = OwnNames.run(PROGRAM, hosts: HOSTS, limit: 120).to_a
  report = out.lines.find { |line| line.start_with?("{") } or abort "#{install}: #{err}"
  JSON.parse(report).fetch("examples").to_h { |one| ["#{one["id"]} #{one["full_description"]}", one["status"]] }
end

plain, *others = %w[never before after].map { |install| results(install) }
puts "WebMock's examples of Net::HTTP: #{plain.size}, #{plain.values.count("passed")} pass"
%w[before after].zip(others) do |install, found|
  different = (plain.to_a | found.to_a).map(&:first).uniq.reject { |name| plain[name] == found[name] }
  different.each { |name| warn "install! #{install} WebMock: #{name}: #{found[name]}, without: #{plain[name]}" }
  abort if different.any?
end
abort "too few pass to say anything" if plain.values.count("passed") < 350
