# frozen_string_literal: true

require_relative "response/header"
require_relative "face/codes"
require_relative "face/outcome"

module Typhoeus
  # An answer, or what became of a request without one: then #code is 0, #return_code says what happened, and #error is
  # the Trunkline::Error with all that is known about it.
  #
  # Responses for stubs are made of options: Response.new(code: 200, body: "ok", headers: { "X-Id" => "1" }).
  class Response
    include ::Trunkline::Redacted

    # Facts that have one name, each also an option of Response.new. Times are in seconds from the beginning.
    FACTS = %i[
      return_code httpauth_avail pretransfer_time connect_time redirect_time effective_url primary_ip redirect_count
      redirect_url request_size size_upload size_download speed_upload speed_download error_message debug_info
    ].freeze
    # Facts with a second name.
    ALIASED = {
      total_time: :time, starttransfer_time: :start_transfer_time, appconnect_time: :app_connect_time,
      namelookup_time: :name_lookup_time
    }.freeze
    private_constant :FACTS, :ALIASED

    # @return [Request, nil]
    attr_accessor :request
    # What the last callback returned.
    attr_writer :handled_response
    # @api private
    attr_writer :mock, :cached
    # @return [Trunkline::Error, nil] why there is no (whole) answer
    attr_reader :error

    # @api private
    # @param outcome [Trunkline::TyphoeusFace::Outcome]
    # @return [Response]
    def self.of(outcome)
      allocate.tap { |response| response.send(:take, outcome) }
    end

    # @param options [Hash] facts by name: code:, body:, headers: (Hash), response_headers: (as they came),
    #   return_code:, effective_url:, total_time:, mock: ...
    def initialize(options = {})
      @options = options
      @headers = Header.new(options[:headers]) if options[:headers]
    end

    FACTS.each { |name| define_method(name) { fact(name) } }
    ALIASED.each do |name, other|
      define_method(name) { fact(name) || fact(other) }
      alias_method other, name
    end

    # @return [Hash{Symbol => Object}] all facts; may be changed
    def options
      return @options if @options

      @options = @outcome.to_h
      @outcome = nil
      @options
    end

    def options=(values)
      @outcome = nil
      @options = values
    end

    # @return [Integer] 0 when there was none
    def response_code
      return @outcome.response_code if @outcome

      given = @options[:response_code] || @options[:code]
      given.nil? ? first_header_line.to_s[%r{\AHTTP/\S+\s+(\d{3})}, 1].to_i : given.to_i
    end
    alias code response_code

    # @return [String, nil] in the charset that its Content-Type names; empty when on_body took it
    def response_body
      @outcome ? @outcome.response_body : in_charset(@options[:response_body] || @options[:body])
    end
    alias body response_body

    # @return [Header, nil] of the last answer
    def headers
      @headers ||= @outcome ? @outcome.header : header_of(response_headers)
    end
    alias headers_hash headers

    # @return [String, nil] heads as they came, those of redirects first
    def response_headers
      return @outcome.response_headers if @outcome

      @options[:response_headers] || mock_headers
    end

    # @return [Array<Response>] redirects that were followed, with nothing but their heads
    def redirections
      return [] if response_headers.nil?

      blocks = heads
      blocks = response_headers.split("\r\n\r\n") if blocks.empty?
      blocks[0..-2].map { |head| Response.new(response_headers: head) }
    end

    # @return [String, nil] what return_code means
    def return_message
      ::Trunkline::TyphoeusFace::Codes.message(return_code) if return_code
    end

    # @return [String, nil] the reason phrase
    def status_message
      return @outcome.status_message if @outcome

      @options[:status_message] || first_header_line.to_s[/\d{3} (.*)$/, 1]&.chomp
    end

    # @return [String, nil] "1.1"
    def http_version
      first_header_line.to_s[%r{HTTP/(\S+)}, 1]
    end

    # @return [Boolean] a status of 200 to 299, and nothing went wrong
    def success?
      settled? && response_code.between?(200, 299)
    end

    # @return [Boolean]
    def failure?
      (!!mock? || !return_code.nil?) && !success?
    end

    # @return [Boolean] any status but 304
    def modified?
      settled? && response_code != 304
    end

    # @return [Boolean]
    def timed_out?
      return_code == :operation_timedout
    end

    # @return [Boolean, Object] whether it came from a stub, and from whose
    def mock
      defined?(@mock) ? @mock : @options && @options[:mock]
    end
    alias mock? mock

    # @return [Boolean]
    def cached?
      @cached ? true : false
    end

    # @return [Object] what the last callback returned, or self
    def handled_response
      @handled_response || self
    end

    # @return [String]
    def inspect
      "#<#{self.class} #{response_code}#{" #{return_code}" if return_code}#{" of #{request.inspect}" if request}>"
    end

    # @return [Array] without what callbacks returned, and without #error; of effective_url as Request#marshal_dump
    def marshal_dump
      url = Request.without_credentials(effective_url)
      [url ? options.merge(effective_url: url) : options, mock, cached?, request]
    end

    def marshal_load(values)
      options, mock, cached, request = values
      initialize(options)
      @mock = mock unless mock.nil?
      @cached = cached
      @request = request
    end

    private

    def take(outcome)
      @outcome = outcome
      @error = outcome.error
    end

    def initialize_copy(other)
      super
      @options = copy_of(other.options)
      @outcome = @handled_response = nil
      @headers = @headers.dup if @headers
    end

    def copy_of(value)
      case value
      when Hash then value.to_h { |name, one| [name, copy_of(one)] }
      when Array then value.map { |one| copy_of(one) }
      when String then value.dup
      else value
      end
    end

    def fact(name)
      @outcome ? @outcome.public_send(name) : @options[name]
    end

    def settled?
      return_code == :ok || !!mock?
    end

    # Trailers make a block without a status line.
    def heads
      response_headers.to_s.split("\r\n\r\n").grep(%r{\AHTTP/})
    end

    def last_head
      heads.last || response_headers.to_s.split("\r\n\r\n").last
    end

    def first_header_line
      last_head&.split("\r\n")&.first
    end

    def header_of(raw)
      raw && Header.new(last_head.to_s)
    end

    def mock_headers
      return unless mock? && @options[:headers]

      status = @options[:response_code] || @options[:code] || 200
      lines = @options[:headers].map { |name, value| "#{name}: #{value.respond_to?(:join) ? value.join(",") : value}" }
      ["HTTP/1.1 #{status} #{status.to_i == 200 ? "OK" : "Mock Reason Phrase"}", *lines].join("\r\n")
    end

    def in_charset(body)
      return body unless body.is_a?(String) && !body.frozen? && body.encoding == Encoding::BINARY && headers

      ::Trunkline::TyphoeusFace::Outcome.in_charset(body, headers["Content-Type"])
    end
  end
end
