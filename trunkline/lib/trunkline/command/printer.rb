# frozen_string_literal: true

require_relative "../redacted"

module Trunkline
  class Command
    # Prints a response, in colour when standard error is a terminal and NO_COLOR is not set.
    class Printer
      COLOURS = { green: 32, yellow: 33, red: 31, dim: 2 }.freeze
      PHASES = %i[queue resolve connect tls first_byte total].freeze

      # @param out [IO] for the body
      # @param err [IO] for everything else
      # @param arguments [Arguments]
      def initialize(out, err, arguments)
        @out = out
        @err = err
        @arguments = arguments
        @colours = err.tty? && !ENV.key?("NO_COLOR")
      end

      # Prints one line: the status, the HTTP version, whether the connection was reused, and the times.
      # @param response [Response]
      # @param number [Integer] the call's number; the first is 1
      def timings(response, number)
        return if @arguments.quiet

        version = "HTTP/#{response.http_version}"
        reuse = response.connection.reused? ? "kept connection" : "new connection"
        numbering = "#{number}. " if @arguments.repeat > 1
        @err.puts "#{numbering}#{paint(status_colour(response), "#{response.status} #{response.reason}".strip)} " \
                  "#{paint(:dim, "#{version}, #{reuse}, #{times(response)}")}"
      end

      # Prints the body, and the curl command and the header fields if the arguments ask for them.
      # @param response [Response]
      def response(response)
        @err.puts response.request.to_curl if @arguments.curl
        show_headers(response) if @arguments.headers
        @out.write(response.body)
        @out.write("\n") if @out.tty? && !response.body.end_with?("\n")
        @out.flush
      end

      private

      def show_headers(response)
        request = response.request
        @err.puts "> #{request.method} #{request.target}", fields("> ", request.headers), ""
        @err.puts "< #{response.status} #{response.reason}".rstrip, fields("< ", response.headers), ""
      end

      # Hides credentials in the fields of the request.
      def fields(mark, headers)
        headers.map do |name, value|
          hidden = mark == "> " && name.match?(/\A(authorization|proxy-authorization|cookie|x-api-key)\z/i)
          "#{mark}#{paint(:dim, "#{name}:")} #{hidden ? Redacted::HIDDEN : value}"
        end
      end

      def times(response)
        shown = PHASES.filter_map do |phase|
          seconds = response.timings.public_send(phase)
          "#{phase.to_s.tr("_", " ")} #{milliseconds(seconds)}" if seconds&.positive? || phase == :total
        end
        shown.join(", ")
      end

      def milliseconds(seconds) = format("%.1f ms", seconds.to_f * 1000)

      def status_colour(response)
        case response.status
        when 200..299 then :green
        when 300..399 then :yellow
        else :red
        end
      end

      def paint(colour, text) = @colours ? "\e[#{COLOURS.fetch(colour)}m#{text}\e[0m" : text
    end
  end
end
