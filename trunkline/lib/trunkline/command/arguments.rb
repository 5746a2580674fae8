# frozen_string_literal: true

require "json"
require "optparse"
require_relative "../verbs"
require_relative "../version"

module Trunkline
  class Command
    # The parsed command line: the verb, the URL, and the options for the client and the call.
    class Arguments
      BANNER = <<~TEXT.freeze
        Usage: trunkline VERB URL [options]
               trunkline doctor

        VERB is #{Verbs::NAMES.join(", ")}. A URL without a scheme is https, or http on this machine.
        The body goes to standard output; everything else goes to standard error.

        Exit status: 0, 1 when there was no answer, 2 for a mistake in the arguments, 3 for an answer of 4xx, 4 for 5xx.

      TEXT
      LOCAL = %r{\A(localhost|127\.\d+\.\d+\.\d+|\[::1\])([:/]|\z)}
      TIMEOUT = 30.0

      # @return [String, nil] a verb, or "doctor"
      attr_reader :verb
      # @return [String, nil]
      attr_reader :url
      # @return [String, nil] text to print instead of making a call
      attr_reader :text
      # @return [Hash] options of Trunkline.new; options of the call
      attr_reader :client_options, :call_options
      # @return [Boolean] whether to print the curl command; the header fields; only the body
      attr_reader :curl, :headers, :quiet
      # @return [Integer] how many times the call is made
      attr_reader :repeat

      # @param input [IO] read for `--body -`
      def initialize(input)
        @input = input
        @client_options = { timeout: TIMEOUT }
        @call_options = {}
        @sent_headers = {}
        @repeat = 1
      end

      # @param argv [Array<String>]
      # @return [self]
      # @raise [OptionParser::ParseError]
      def parse(argv)
        rest = parser.parse(argv)
        @text ||= parser.help if rest.empty?
        return self if @text

        @verb = rest.shift.downcase
        @verb == "doctor" ? refuse_more(rest) : take_call(rest)
        self
      end

      private

      def take_call(rest)
        known = Verbs::NAMES.map(&:to_s)
        unless known.include?(@verb)
          raise OptionParser::InvalidArgument,
                "#{@verb}: no verb; #{known.join(", ")} or doctor"
        end
        raise OptionParser::MissingArgument, "URL" if rest.empty?

        @url = with_scheme(rest.shift)
        refuse_more(rest)
        @call_options[:headers] = @sent_headers unless @sent_headers.empty?
      end

      def refuse_more(rest)
        raise OptionParser::NeedlessArgument, rest.first unless rest.empty?
      end

      def with_scheme(url)
        return url if url.match?(%r{\A[a-z]+://}i)

        url.match?(LOCAL) ? "http://#{url}" : "https://#{url}"
      end

      def parser
        @parser ||= OptionParser.new do |options|
          options.banner = BANNER
          request(options)
          connection(options)
          output(options)
        end
      end

      def request(options)
        options.on("-H", "--header NAME:VALUE", "a header field; may be given again") { |text| add_header(text) }
        options.on("--json DOCUMENT", "JSON, or name=value (name:=JSON); may be given again") { |text| add_json(text) }
        options.on("--form NAME=VALUE", "a field of a form; may be given again") { |text| add(:form, text) }
        options.on("--param NAME=VALUE", "added to the query; may be given again") { |text| add(:params, text) }
        options.on("--body TEXT", "the content; - for standard input, @FILE for a file") { |text| take_body(text) }
        options.on("--bearer TOKEN", "Authorization: Bearer") { |token| @call_options[:bearer] = token }
        options.on("--basic USER:PASSWORD", "Authorization: Basic") do |pair|
          @call_options[:basic] = pair.split(":", 2).then { |user, password| [user, password.to_s] }
        end
        options.on("--follow", "follow up to 10 redirects") { @client_options[:follow] = 10 }
      end

      def connection(options)
        options.on("--timeout SECONDS", Float, "for the whole call; #{TIMEOUT.to_i} unless given") do |seconds|
          @client_options[:timeout] = seconds
        end
        options.on("--http2", "HTTP/2 alone") { @client_options[:http] = :h2 }
        options.on("--http1", "HTTP/1.1 alone") { @client_options[:http] = :h1 }
        options.on("--proxy URL", "a proxy, or none") do |url|
          @client_options[:proxy] = url == "none" ? false : url
        end
        options.on("--ca-file FILE", "certificates to trust") { |file| @client_options[:ca_file] = file }
        options.on("--client-cert FILE", "a certificate of yours") { |file| @client_options[:client_cert] = file }
        options.on("--client-key FILE", "its key") { |file| @client_options[:client_key] = file }
        options.on("--insecure", "do not check the server's certificate") { @client_options[:verify] = false }
      end

      def output(options)
        options.on("-i", "--headers", "show what was sent and received, without bodies") { @headers = true }
        options.on("-q", "--quiet", "show the body alone") { @quiet = true }
        options.on("--repeat TIMES", Integer, "make the call so often, and show the times of each") do |times|
          raise OptionParser::InvalidArgument, "#{times}: at least 1" unless times.positive?

          @repeat = times
        end
        options.on("--curl", "show the call as a command of curl, too") { @curl = true }
        options.on("--version") { @text = "trunkline #{VERSION}" }
        options.on("-h", "--help") { @text = parser.help }
      end

      def add_header(text)
        name, value = text.split(":", 2)
        raise OptionParser::InvalidArgument, "#{text}: NAME:VALUE" if value.nil?

        @sent_headers[name] = value.strip
      end

      def add_json(text)
        name, raw, value = text.match(/\A([^\s"'{}\[\]:=]+)(:?)=(.*)\z/m)&.captures
        return @call_options[:json] = JSON.parse(text) unless name

        members = @call_options[:json] ||= {}
        members[name] = raw.empty? ? value : JSON.parse(value)
      rescue JSON::ParserError
        raise OptionParser::InvalidArgument, "#{text}: neither JSON nor name=value"
      end

      def add(option, text)
        name, value = text.split("=", 2)
        (@call_options[option] ||= []) << [name, value]
      end

      def take_body(text)
        @call_options[:body] = case text
                               when "-" then @input.read
                               when /\A@/ then Pathname(text.delete_prefix("@"))
                               else text
                               end
      end
    end
  end
end
