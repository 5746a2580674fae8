# frozen_string_literal: true

require_relative "response/header"
require_relative "../errors"
require_relative "../response_adapter"

module Typhoeus
  # A response, or the failure of a request: then #code is 0, #return_code is libcurl's code for it, and #error the
  # Trunkline::Error.
  #
  # Responses for stubs are made from options: Response.new(code: 200, body: "ok", headers: { "X-Id" => "1" }).
  class Response
    include ::Trunkline::Redacted

    # Attributes with one name, each also an option of Response.new. Times are in seconds from the start of the request.
    ATTRIBUTES = %i[
      return_code httpauth_avail pretransfer_time connect_time redirect_time effective_url primary_ip redirect_count
      redirect_url request_size size_upload size_download speed_upload speed_download error_message debug_info
    ].freeze
    # Attributes with a second name.
    ALIASED = {
      total_time: :time, starttransfer_time: :start_transfer_time, appconnect_time: :app_connect_time,
      namelookup_time: :name_lookup_time
    }.freeze
    private_constant :ATTRIBUTES, :ALIASED

    # @return [Request, nil]
    attr_accessor :request
    # The value of the last callback.
    attr_writer :handled_response
    # @api private
    attr_writer :mock, :cached
    # @return [Trunkline::Error, nil] the error that ended the request
    attr_reader :error

    # @api private
    # @param adapter [Trunkline::Facades::Typhoeus::ResponseAdapter]
    # @return [Response]
    def self.of(adapter)
      allocate.tap { |response| response.send(:read_from, adapter) }
    end

    # @param options [Hash] attributes by name: code:, body:, headers: (Hash), response_headers: (raw),
    #   return_code:, effective_url:, total_time:, mock: ...
    def initialize(options = {})
      @options = options
      @headers = Header.new(options[:headers]) if options[:headers]
    end

    ATTRIBUTES.each { |name| define_method(name) { attribute(name) } }
    ALIASED.each do |name, other|
      define_method(name) { attribute(name) || attribute(other) }
      alias_method other, name
    end

    # @return [Hash{Symbol => Object}] all attributes; may be changed
    def options
      return @options if @options

      @options = @adapter.to_h
      @adapter = nil
      @options
    end

    def options=(values)
      @adapter = nil
      @options = values
    end

    # @return [Integer] 0 without a response
    def response_code
      return @adapter.response_code if @adapter

      code = @options[:response_code] || @options[:code]
      code.nil? ? first_header_line.to_s[%r{\AHTTP/\S+\s+(\d{3})}, 1].to_i : code.to_i
    end
    alias code response_code

    # @return [String, nil] in the charset of the Content-Type; empty when on_body has received it
    def response_body
      @adapter ? @adapter.response_body : in_charset(@options[:response_body] || @options[:body])
    end
    alias body response_body

    # @return [Header, nil] of the last response
    def headers
      @headers ||= @adapter ? @adapter.header : header_of(response_headers)
    end
    alias headers_hash headers

    # @return [String, nil] raw status lines and fields, those of redirects first
    def response_headers
      return @adapter.response_headers if @adapter

      @options[:response_headers] || mock_headers
    end

    # @return [Array<Response>] redirects that were followed, without their bodies
    def redirections
      return [] if response_headers.nil?

      blocks = heads
      blocks = response_headers.split("\r\n\r\n") if blocks.empty?
      blocks[0..-2].map { |head| Response.new(response_headers: head) }
    end

    # @return [String, nil] libcurl's text for return_code
    def return_message
      ::Trunkline::Facades::Typhoeus::Errors.message(return_code) if return_code
    end

    # @return [String, nil] the reason phrase
    def status_message
      return @adapter.status_message if @adapter

      @options[:status_message] || first_header_line.to_s[/\d{3} (.*)$/, 1]&.chomp
    end

    # @return [String, nil] "1.1"
    def http_version
      first_header_line.to_s[%r{HTTP/(\S+)}, 1]
    end

    # @return [Boolean] whether the status is 200 to 299 and the request has not failed
    def success?
      settled? && response_code.between?(200, 299)
    end

    # @return [Boolean]
    def failure?
      (!!mock? || !return_code.nil?) && !success?
    end

    # @return [Boolean] whether the status is not 304 and the request has not failed
    def modified?
      settled? && response_code != 304
    end

    # @return [Boolean]
    def timed_out?
      return_code == :operation_timedout
    end

    # @return [Boolean, Object] whether the response came from a stub; the stub's library, if Expectation#from is set
    def mock
      defined?(@mock) ? @mock : @options && @options[:mock]
    end
    alias mock? mock

    # @return [Boolean]
    def cached?
      @cached ? true : false
    end

    # @return [Object] the value of the last callback, or self
    def handled_response
      @handled_response || self
    end

    # @return [String]
    def inspect
      "#<#{self.class} #{response_code}#{" #{return_code}" if return_code}#{" of #{request.inspect}" if request}>"
    end

    # @return [Array] without handled_response and error; effective_url without credentials
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

    def read_from(adapter)
      @adapter = adapter
      @error = adapter.error
    end

    def initialize_copy(other)
      super
      @options = copy_of(other.options)
      @adapter = @handled_response = nil
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

    def attribute(name)
      @adapter ? @adapter.public_send(name) : @options[name]
    end

    def settled?
      return_code == :ok || !!mock?
    end

    # Skips trailers, which are a block without a status line.
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

      ::Trunkline::Facades::Typhoeus::ResponseAdapter.in_charset(body, headers["Content-Type"])
    end
  end
end
