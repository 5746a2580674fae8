# frozen_string_literal: true

require "tmpdir"
require_relative "../../../support/responses"

# One SDK: the responses of its service, and calls whose results are compared. Each SDK has a subclass in uses/, which
# declares itself with `about`, makes responses in `respond`, in the process of the test, and makes calls in `call`, in
# a separate process.
class SDK
  include Responses

  # over: the library that sends its requests. common: CI runs it. tls: its service uses https. forced: the version of a
  # gem that declares a newer Ruby as required, but runs on this one. version: for an SDK that is not a gem.
  About = Struct.new(:title, :gem, :over, :common, :tls, :forced, :version, keyword_init: true)

  @all = []

  class << self
    attr_reader :all

    # The name of the SDK's file in uses/.
    attr_reader :file

    def about(title = nil, **rest)
      return @about unless title

      @file = File.basename(caller_locations(1, 1).first.path, ".rb")
      @about = About.new(title: title, **rest)
    end

    def named(file) = all.find { |sdk| sdk.file == file }

    # Whether the SDK also runs with Trunkline as Faraday's adapter.
    def faraday? = about.over.start_with?("Faraday")

    def inherited(sdk)
      super
      SDK.all << sdk
    end
  end

  # @return [Array] name and result of each call
  attr_reader :results

  # @param url [String] the URL of the service, without a path
  # @param ca_file [String]
  def initialize(url = nil, ca_file = nil)
    @url = url
    @ca_file = ca_file
    @results = []
  end

  # @param request [ScriptedConnection::Request]
  # @return [String] the bytes of the response
  def respond(request) = raise(NotImplementedError, request.target)

  # Makes the calls, each in a block of `record`.
  def call = raise(NotImplementedError)

  private

  attr_reader :url, :ca_file

  def uri = URI(url)

  # Records the result of a call: a value that JSON can represent, or the exception.
  def record(name)
    results << [name, yield]
  rescue StandardError => error
    results << [name, "#{error.class}: #{error.message}"]
  end

  # Yields a file with a name that is the same in every run.
  def upload(content, &block)
    Dir.mktmpdir do |folder|
      path = File.join(folder, "upload.txt")
      File.write(path, content)
      File.open(path, &block)
    end
  end

  def not_found(value = { "error" => "not found" }) = json_response(value, status: "404 Not Found")

  # The bytes of a response with server-sent events, with a chunk for each.
  def events(*events, **headers)
    chunked_response(*events, **{ "Content-Type" => "text/event-stream", "Cache-Control" => "no-cache" }, **headers)
  end
end
