# frozen_string_literal: true

require "optparse"
require_relative "target"

module Trunkline
  module Lab
    # The options of commands that call a URL: the request, the timeout of a call, and the limits of load on other
    # people's servers.
    module CallOptions
      VERBS = %w[GET HEAD POST PUT PATCH DELETE OPTIONS].freeze

      HTTP = { "1.1" => "h1", "2" => "h2", "auto" => "auto" }.freeze

      private

      def http_option(parser)
        parser.on("--http VERSION", HTTP.keys, "#{HTTP.keys.join(", ")}; auto: 2 where the server offers it over TLS",
                  "(of the built-in servers the one with TLS and HTTP/2)") { |version| @http = HTTP.fetch(version) }
      end

      def call_options(parser)
        parser.on("-H", "--header LINE", "a header field, as \"Name: value\"; any number") { |line| header(line) }
        parser.on("-d", "--data TEXT", "body") { |text| @call[:body] = text }
        parser.on("-D", "--data-file FILE", "body from a file") { |file| @call[:body] = read(file) }
        parser.on("-t", "--timeout SECONDS", Float, "of each call (10)") do |seconds|
          @timeout = positive(seconds, "-t")
        end
        parser.on("--ca-file FILE", "authorities to trust") { |file| read(@ca_file = file) }
        parser.on("--insecure", "do not verify certificates") { @insecure = true }
        parser.on("--tls", "the built-in server over TLS") { @tls = true }
        parser.on("--i-own-this-server", "allow more than #{Target::MOST_IN_FLIGHT} in flight, " \
                                         "#{Target::MOST_REQUESTS} requests and #{Target::MOST_A_SECOND} a second") do
          @owner = true
        end
      end

      # @return [String] a URL, or the name of a built-in server
      # @raise [Stop]
      def one_place(rest)
        return rest.first if rest.size == 1

        raise Stop.new("give one URL, or one of #{Target::BUILT_IN.keys.join(", ")}", USAGE)
      end

      def start_call = @call = { verb: "GET", headers: {} }

      def header(line)
        name, value = line.split(":", 2)
        raise OptionParser::InvalidArgument, "#{line.inspect}: give \"Name: value\"" if value.nil? || name.empty?

        @call[:headers][name.strip] = value.strip
      end

      def verb(text)
        name = text.upcase
        VERBS.include?(name) ? name : raise(Stop.new("#{text.inspect} is not a method: #{VERBS.join(", ")}", USAGE))
      end

      def read(file)
        File.binread(file).force_encoding(Encoding::UTF_8)
      rescue SystemCallError => error
        raise OptionParser::InvalidArgument, "#{file}: #{error.message.sub(/ @ .*/, "")}"
      end

      def positive(number, name)
        number.positive? ? number : raise(OptionParser::InvalidArgument, "#{number}: #{name} must be more than 0")
      end

      # Makes one call before the measurement.
      # @param first [Hash] the call
      # @return [Trunkline::Response]
      # @raise [Stop]
      def check_call(first) = @target.probe(first, timeout: @timeout, insecure: @insecure, http: @http)

      # The user's header fields take precedence over the Authorization field made of the URL's user and password.
      def call
        fields = @call[:headers]
        url_fields = @target.headers.reject { |name, _| fields.any? { |other, _| other.casecmp?(name) } }
        @call.merge(path: @target.path, headers: url_fields.merge(fields))
      end

      # The URL for output, without secrets.
      def place = Secrets.hide(@place)

      # @raise [Stop] when the load would exceed the limits for a server that may not be the user's
      def check_limits(in_flight: 0, requests: 0, rate: 0)
        return if @owner || !@target.foreign?

        loads = { "in flight" => [in_flight, Target::MOST_IN_FLIGHT], "requests" => [requests, Target::MOST_REQUESTS],
                  "requests a second" => [rate, Target::MOST_A_SECOND] }
        exceeded = loads.find { |_, (requested, most)| requested > most }
        return unless exceeded

        what, (requested, most) = exceeded
        raise Stop.new("#{requested} #{what} is more than the #{most} that are polite towards #{@target.uri.host}: " \
                       "add --i-own-this-server if it is yours", USAGE)
      end

      def open_target(place, &block)
        port = @tls ? :tls : :plain
        port = :http2 if %w[h2 auto].include?(@http)
        Target.open(place, ca_file: @ca_file, port: port) do |target|
          @target = target
          block.call(target)
        end
      end

      def peer_options
        { base: @target.base, ca_file: @target.ca_file, timeout: @timeout, insecure: @insecure || false,
          http: @http }.compact
      end
    end
  end
end
