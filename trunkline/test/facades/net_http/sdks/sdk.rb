# frozen_string_literal: true

require "tmpdir"
require_relative "../../../support/answers"

# One SDK: what its service answers, and calls of it whose results are compared. A subclass for each, in uses/; it says
# what it is with `about`, answers in `respond`, in the process of the test, and calls in `call`, in a process of its
# own.
class SDK
  include Answers

  # over: what carries its calls. common: CI runs it. tls: its service is on https. forced: the version of a gem that
  # wants a newer Ruby by its own word, and runs on this one. version: of what is no gem.
  About = Struct.new(:title, :gem, :over, :common, :tls, :forced, :version, keyword_init: true)

  @all = []

  class << self
    attr_reader :all

    # The name of its file in uses/.
    attr_reader :file

    def about(title = nil, **rest)
      return @about unless title

      @file = File.basename(caller_locations(1, 1).first.path, ".rb")
      @about = About.new(title: title, **rest)
    end

    def named(file) = all.find { |sdk| sdk.file == file }

    # Runs also with Trunkline as Faraday's adapter.
    def faraday? = about.over.start_with?("Faraday")

    def inherited(sdk)
      super
      SDK.all << sdk
    end
  end

  # @return [Array] name and result of each call
  attr_reader :told

  # @param url [String] of the service, without a path
  # @param ca_file [String]
  def initialize(url = nil, ca_file = nil)
    @url = url
    @ca_file = ca_file
    @told = []
  end

  # @param request [ScriptedConnection::Request]
  # @return [String] the bytes of the answer
  def respond(request) = raise(NotImplementedError, request.target)

  # Makes the calls, each with `tell`.
  def call = raise(NotImplementedError)

  private

  attr_reader :url, :ca_file

  def uri = URI(url)

  # What a call comes to: a value that JSON can say, or the exception.
  def tell(name)
    told << [name, yield]
  rescue StandardError => error
    told << [name, "#{error.class}: #{error.message}"]
  end

  # Yields a file with a name that is the same in every run.
  def upload(content, &block)
    Dir.mktmpdir do |folder|
      path = File.join(folder, "upload.txt")
      File.write(path, content)
      File.open(path, &block)
    end
  end

  def not_found(value = { "error" => "not found" }) = json_answer(value, status: "404 Not Found")

  # The bytes of an answer of server-sent events, a chunk for each.
  def events(*events, **headers)
    chunked_answer(*events, **{ "Content-Type" => "text/event-stream", "Cache-Control" => "no-cache" }, **headers)
  end
end
