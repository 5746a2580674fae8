# frozen_string_literal: true

require "time"
require_relative "../deadline"
require_relative "../headers"
require_relative "../redacted"

module Trunkline
  module Rack
    # Rack middleware: limits the calls that an application makes during a request to the time for which the request's
    # caller still waits. A header field of the request contains that time (clients send it with the option
    # deadline_header:).
    #
    #   use Trunkline::Rack::Deadline, header: "X-Deadline"
    #
    # The field has one of these formats:
    #
    #   1.5            seconds from now; the format that Trunkline sends
    #   1.5s, 1500ms   the same with a unit
    #   1500m, 2S, 1M  the format of grpc-timeout: up to 8 digits, and H, M, S, m (milliseconds), u or n
    #   2026-11-23T05:30:00.5Z  a time (RFC 3339), for machines whose clocks agree
    #
    # With 0, or a time in the past, calls raise DeadlineExceeded and nothing is sent. A field in another format is
    # ignored. Calls that a body's #each makes after the application has returned are not limited.
    class Deadline
      include Redacted

      NUMBER = /\A(-?\d{1,12}(?:\.\d{1,12})?)(s|ms)?\z/
      GRPC = /\A(\d{1,8})([HMSmun])\z/
      # Seconds in each unit.
      UNITS = { nil => 1, "s" => 1, "ms" => 1e-3, "H" => 3600, "M" => 60, "S" => 1, "m" => 1e-3, "u" => 1e-6,
                "n" => 1e-9 }.freeze
      ZONE = /(?:Z|[+-]\d\d:\d\d)\z/
      private_constant :NUMBER, :GRPC, :UNITS, :ZONE

      # @param text [String] the field
      # @param now [Time]
      # @return [Float, nil] seconds; nil if text has another format
      def self.seconds(text, now = Time.now)
        match = NUMBER.match(text) || GRPC.match(text)
        return match[1].to_f * UNITS[match[2]] if match

        Time.iso8601(text) - now if ZONE.match?(text)
      rescue ArgumentError
        nil
      end

      # @param app [#call]
      # @param header [String] the field's name
      # @raise [InvalidRequest]
      def initialize(app, header: "X-Deadline")
        @app = app
        @key = "HTTP_#{Headers.field_name(header, "header").upcase.tr("-", "_")}"
      end

      # @param env [Hash]
      # @return [Array] the application's response
      def call(env)
        text = env[@key]
        seconds = text && Deadline.seconds(text)
        seconds ? Trunkline.deadline(seconds) { @app.call(env) } : @app.call(env)
      end
    end
  end
end
