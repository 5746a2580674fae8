# frozen_string_literal: true

require "trunkline/lab/origins/nginx"
require_relative "lab"

module Bench
  # The lab's nginx, with what the benchmarks ask for beyond that.
  class Origin < Trunkline::Lab::Origins::Nginx
    Missing = Trunkline::Lab::Origins::Missing
    SMALL = Trunkline::Lab::Origins::SHORT
    MEDIUM = Trunkline::Lab::Origins::MEDIUM
    ORDERS = Trunkline::Lab::Origins::ORDERS # 370 bytes of JSON under 12 header fields
    LARGE = "/large"
    BODIES = { SMALL => Trunkline::Lab::Origins::SHORT_BODY, MEDIUM => Trunkline::Lab::Origins::MEDIUM_BODY,
               ORDERS => Trunkline::Lab::Origins::ORDERS_BODY }.freeze
    LARGE_BYTES = 200 * 1024 * 1024
    # Answered with the protocol of the request, such as "HTTP/2.0".
    PROTOCOL = "/protocol"
    # Answered after a while by nginx's echo module.
    SLOW = "/after/0.1"
    HALF_SLOW = "/after/0.05"
    # As SMALL, for an hour.
    KEPT = "/kept"
    # Where distributions keep the system's authorities.
    AUTHORITIES = [OpenSSL::X509::DEFAULT_CERT_FILE, "/etc/ssl/certs/ca-certificates.crt"].freeze

    # @raise [Missing]
    def self.open(&block)
      raise Missing, "nginx is not installed (bin/setup installs it)" unless available?

      super
    end

    # What a path is answered with; the slow ones as SMALL.
    def self.body(path) = BODIES.fetch(path, BODIES.fetch(SMALL))

    # A path's answer, for titles.
    def self.describe(path)
      "#{body(path).bytesize} B#{" of JSON with 12 fields" if path == ORDERS}"
    end

    # The orders of bench:real go to it.
    # @yield [base] its URL
    def self.serve(suite) = yield(suite.origin.plain)

    # Why there is nothing at SLOW and HALF_SLOW, or nil.
    def self.slow_missing = ("nginx's echo module is not installed (bin/setup installs it)" unless echo_module)

    # The system's authorities and ours in one file: what verifying costs when there are more than a hundred to parse.
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
