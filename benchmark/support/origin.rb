# frozen_string_literal: true

require "trunkline/lab/origins/nginx"
require_relative "lab"

module Bench
  # The lab's nginx, with further locations for the benchmarks.
  class Origin < Trunkline::Lab::Origins::Nginx
    Missing = Trunkline::Lab::Origins::Missing
    SMALL = Trunkline::Lab::Origins::SHORT
    MEDIUM = Trunkline::Lab::Origins::MEDIUM
    ORDERS = Trunkline::Lab::Origins::ORDERS # 370 bytes of JSON under 12 header fields
    LARGE = "/large"
    BODIES = { SMALL => Trunkline::Lab::Origins::SHORT_BODY, MEDIUM => Trunkline::Lab::Origins::MEDIUM_BODY,
               ORDERS => Trunkline::Lab::Origins::ORDERS_BODY }.freeze
    LARGE_BYTES = 200 * 1024 * 1024
    # The response's body is the protocol of the request, such as "HTTP/2.0".
    PROTOCOL = "/protocol"
    # nginx's echo module delays the responses of these paths, by the number of seconds in the path.
    SLOW = "/after/0.1"
    HALF_SLOW = "/after/0.05"
    # The response of SMALL, cacheable for an hour.
    KEPT = "/kept"
    # Files in which distributions keep the system's CA bundle.
    AUTHORITIES = [OpenSSL::X509::DEFAULT_CERT_FILE, "/etc/ssl/certs/ca-certificates.crt"].freeze

    # @raise [Missing]
    def self.open(&block)
      raise Missing, "nginx is not installed (bin/setup installs it)" unless available?

      super
    end

    # The response body of a path; the slow paths have SMALL's.
    def self.body(path) = BODIES.fetch(path, BODIES.fetch(SMALL))

    # Describes a path's response, for titles.
    def self.describe(path)
      "#{body(path).bytesize} B#{" of JSON with 12 fields" if path == ORDERS}"
    end

    # The server for the orders of bench:real.
    # @yield [base] its URL
    def self.serve(suite) = yield(suite.origin.plain)

    # The reason why SLOW and HALF_SLOW are not served, or nil.
    def self.slow_missing = ("nginx's echo module is not installed (bin/setup installs it)" unless echo_module)

    # The system's CA bundle and our test CA in one file, to measure verification with more than a hundred authorities
    # to parse.
    def bundle_file
      system = AUTHORITIES.find { |file| File.size?(file) }
      File.join(folder, "bundle.pem").tap do |file|
        File.write(file, (system ? File.read(system) : "") + File.read(ca_file))
      end
    end

    private

    def places
      kept = "add_header Cache-Control max-age=3600; return 200 \"#{BODIES.fetch(SMALL)}\";"
      "#{super} location = #{PROTOCOL} { return 200 \"$server_protocol\"; } location = #{KEPT} { #{kept} }"
    end

    def delays = super.merge(SLOW => [0.1, SMALL], HALF_SLOW => [0.05, SMALL])

    def write_files
      super
      File.open(File.join(folder, LARGE), "w") { |file| file.truncate(LARGE_BYTES) }
    end
  end
end
