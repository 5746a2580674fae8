# frozen_string_literal: true

require "time"

module Trunkline
  # Reads Retry-After (RFC 9110 10.2.3).
  #
  # @api private
  module RetryAfter
    # A number that says more says "never".
    MOST = 1_000_000_000.0
    SECONDS = /\A\d+(?:\.\d+)?\z/
    # A longer number is more than MOST.
    DIGITS = 12
    private_constant :MOST, :SECONDS, :DIGITS

    # A date is compared with the answer's own Date if it has one: the clocks of the two machines may differ.
    #
    # @param response [#[]] gives a header field by its name
    # @param now [Time] the wall clock
    # @return [Float, nil] seconds, at least 0; nil when the field is missing or neither a number nor a date
    def self.seconds(response, now = Time.now)
      text = response["retry-after"] or return
      return text.length > DIGITS ? MOST : [text.to_f, MOST].min if SECONDS.match?(text)

      date = time(text) or return
      [date - server_time(response, now), 0.0].max
    end

    # @param now [Time] the wall clock
    # @return [Time] by the clock of the server that answered
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
