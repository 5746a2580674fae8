# frozen_string_literal: true

require "time"
require_relative "../deadline"
require_relative "../headers"
require_relative "../redacted"

module Trunkline
  module Rack
    # Bounds the calls that an application makes for a request by the time that its caller still waits, which a field of
    # the request tells (see the option deadline_header: of clients, which sends one).
    #
    #   use Trunkline::Rack::Deadline, header: "X-Deadline"
    #
    # The field is one of
    #
    #   1.5            seconds from now; what Trunkline sends
    #   1.5s, 1500ms   the same with a unit
    #   1500m, 2S, 1M  as grpc-timeout has it: up to 8 digits, and H, M, S, m (milliseconds), u or n
    #   2026-11-23T05:30:00.5Z  a time (RFC 3339), for machines whose clocks agree
    #
    # With 0, or a time that is past, the deadline is over: calls raise DeadlineExceeded, and nothing is sent. Anything
    # else is ignored, as if the field was not there. What a body's #each calls when the application has returned is not
    # bounded.
    class Deadline
      include Redacted

      NUMBER = /\A(-?\d{1,12}(?:\.\d{1,12})?)(s|ms)?\z/
      GRPC = /\A(\d{1,8})([HMSmun])\z/
      # Seconds.
      UNITS = { nil => 1, "s" => 1, "ms" => 1e-3, "H" => 3600, "M" => 60, "S" => 1, "m" => 1e-3, "u" => 1e-6,
                "n" => 1e-9 }.freeze
      ZONE = /(?:Z|[+-]\d\d:\d\d)\z/
      private_constant :NUMBER, :GRPC, :UNITS, :ZONE

      # @param text [String] the field
      # @param now [Time]
      # @return [Float, nil] seconds; nil for what is no such field
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
      # @return [Array] the application's answer
      def call(env)
        text = env[@key]
        seconds = text && Deadline.seconds(text)
        seconds ? Trunkline.deadline(seconds) { @app.call(env) } : @app.call(env)
      end
    end
  end
end
