# frozen_string_literal: true

# Run with the real Typhoeus or with trunkline/typhoeus: sends a request for each case, and prints its outcome.
#
#   ruby probe.rb typhoeus http://127.0.0.1:1234 cases     writes the cases, Ethon's options among them, and runs them
#   ruby probe.rb trunkline/typhoeus http://127.0.0.1:1234 cases

require "json"
require_relative "api"

library, url, file = ARGV
require library

# The values with which options are tried; options without a name here get a value by their type.
module Samples
  NAMED = {
    accept_encoding: "gzip", encoding: "gzip", connecttimeout: 5, connecttimeout_ms: 5000, cookie: "a=1",
    copypostfields: "a=1", customrequest: "BREW", default_protocol: "http", http_version: :httpv1_1, httpauth: :basic,
    interface: "127.0.0.1", low_speed_time: 5, maxfilesize: 3, maxfilesize_large: 3, netrc: :ignored, nobody: true,
    noproxy: "*", password: "p", protocols_str: "http,https", proxy: "", proxyauth: :basic, proxytype: :http,
    range: "0-1", redir_protocols_str: "http,https", referer: "http://r.test/", resume_from: 2, resume_from_large: 2,
    protocols: %i[http https], redir_protocols: %i[http https], sslcerttype: "PEM", sslkeytype: "PEM",
    sslversion: :tlsv1_2, tls13_ciphers: "TLS_AES_128_GCM_SHA256", timecondition: :ifmodsince, timeout: 5,
    timeout_ms: 5000, timevalue: 86_400,
    useragent: "agent", username: "u", userpwd: "u:p", xoauth2_bearer: "token"
  }.freeze
  BY_TYPE = { bool: true, int: 1, off_t: 1, time: 1, none: true, string: "x", string_as_pointer: "x",
              binary_string: "x", curl_slist: ["x"], blob: "x" }.freeze

  VERBS = %i[get head post put delete patch options brew].freeze
  BODIES = { "" => {}, " with a body" => { body: "a=1" }, " with an empty body" => { body: "" },
             " with a form" => { body: { a: [1, "b c"] } }, " with customrequest" => { customrequest: "BREW" },
             " with customrequest and a body" => { customrequest: "BREW", body: "a=1" } }.freeze

  # @return [Hash{String => Hash}] options of a request, by the name of the case
  def self.requests
    VERBS.product(BODIES.to_a).to_h { |verb, (name, options)| ["#{verb.upcase}#{name}", { method: verb, **options }] }
  end

  # @param options [Hash] Ethon's options
  # @param file [String] a readable file, in a folder for the files that options name
  # @return [Hash{String => Hash}] options of a request, by the name of the case
  def self.cases(options, url, file)
    own = { port: Integer(url[/\d+\z/]), cookiefile: "#{file}.cookies", cookiejar: "#{file}.cookies", sslcert: file,
            sslkey: file, cainfo: file, capath: File.dirname(file), netrc_file: file, **NAMED }
    options.filter_map do |name, about|
      next if name == :url

      more = name == :sslkey ? { sslcert: file } : {} # a key without a certificate has no effect
      [name.name, { name => own.fetch(name) { typical(about) }, **more }]
    end.to_h
  end

  def self.typical(about)
    about[:opts].is_a?(Hash) ? about[:opts].keys.first : BY_TYPE.fetch(about[:type], :x)
  end
end

# Ignores the order and the letter case of fields, which have no meaning.
def normal(bytes, url)
  head, body = bytes.split("\r\n\r\n", 2)
  line, *fields = head.to_s.split("\r\n")
  [line, *fields.map { |field| field.sub(/\A[^:]*/, &:downcase) }.sort, body].join("\n").gsub(url, "URL")
    .gsub(url.delete_prefix("http://"), "HOST")
end

def outcome(url, options)
  response = Typhoeus::Request.new("#{url}/x", { timeout: 5 }.merge(options)).run
  body = response.body.empty? ? "" : normal(response.body.b, url)
  [response.return_code, response.code, response.headers && response.headers["X-Line"], body]
rescue StandardError, NotImplementedError => error # the latter is a ScriptError
  ["refused", 0, nil, error.class.name.match?(/Option|Invalid|NotImpl|Argument/) ? "" : error.class.name]
ensure
  Typhoeus::Pool.clear # libcurl keeps transfer_encoding for the next request of a handle
end

methods = API.methods(Typhoeus)
$stderr = File.open(File::NULL, "w")
if library == "typhoeus"
  File.write(file, "") # for options that name a file
  samples = Samples.requests.merge(Samples.cases(Ethon::Curl.easy_options(nil), url, file))
  File.binwrite(file, Marshal.dump(samples))
end
cases = Marshal.load(File.binread(file)) # rubocop:disable Security/MarshalLoad -- the other run's
puts library == "typhoeus" ? Ethon::Curl.version[%r{libcurl/([\d.]+)}, 1] : Typhoeus::VERSION
puts JSON.generate(methods)
cases.each do |name, options|
  given = options.map { |option, value| "#{option}: #{value.inspect}" }.join(", ")
  puts JSON.generate([name, given, *outcome(url, options)])
end
$stdout.flush
exit!(true) # skips the cleanup of libcurl's handles
