# frozen_string_literal: true

require "time"

module Trunkline
  # Reads Retry-After (RFC 9110 10.2.3).
  #
  # @api private
  module RetryAfter
    # Seconds; larger numbers are lowered to this one.
    MAX_SECONDS = 1_000_000_000.0
    SECONDS = /\A\d+(?:\.\d+)?\z/
    # A number with more characters than this is larger than MAX_SECONDS.
    DIGITS = 12
    private_constant :MAX_SECONDS, :SECONDS, :DIGITS

    # A date is compared with the Date field of the response, if there is one: the clocks of the two machines may
    # differ.
    #
    # @param response [#[]] returns a header field by its name
    # @param now [Time] the wall clock
    # @return [Float, nil] seconds, at least 0; nil when the field is missing or neither a number nor a date
    def self.seconds(response, now = Time.now)
      text = response["retry-after"] or return
      return text.length > DIGITS ? MAX_SECONDS : [text.to_f, MAX_SECONDS].min if SECONDS.match?(text)

      date = time(text) or return
      [date - server_time(response, now), 0.0].max
    end

    # @param now [Time] the wall clock
    # @return [Time] the time of the server's clock, from the Date field; without it, now
    def self.server_time(response, now = Time.now) = time(response["date"]) || now

    # @return [Time, nil]
    def self.time(text)
      text && Time.httpdate(text)
    rescue ArgumentError
      nil
    end
    private_class_method :time
  end
end
