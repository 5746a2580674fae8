# frozen_string_literal: true

require_relative "../../support/secret_leak_check"

# What a caller can read of the requests of a case, their responses, and errors.
class RequestFacts
  # The logger of the process, for log: and curl:. It keeps the lines that have a credential, of any case.
  module Log
    @leaks = Queue.new

    class << self
      def info(line)
        @leaks << line if RequestFacts.leak?(line)
      end
      alias warn info

      # @return [Array<String>] the lines since the last call
      def take = Array.new(@leaks.size) { @leaks.pop }
    end
  end

  # @return [Boolean] whether a text for people has a credential
  def self.leak?(text) = text.b.match?(SecretLeakCheck::FORMS)

  def initialize
    @leaks = []
  end

  # @return [Array<String>] texts for people that have a credential
  def leaks = @leaks + Log.take

  # Notes texts for people.
  def show(*texts)
    @leaks.concat(texts.select { |text| RequestFacts.leak?(text) })
  end

  # @param response [Trunkline::Response]
  # @return [Hash]
  def of_response(response)
    request = response.request
    show(response.inspect, request.inspect, request.to_curl)
    { status: response.status, redirects: response.redirects.map { |one| [one.status, one.url] }, answer: response.body,
      inspect: [response.inspect, request.inspect, request.uri.inspect, request.headers.inspect],
      curl: request.to_curl(secrets: true), **of_request(request) }
  end

  # @param error [Exception]
  # @return [Hash]
  def of_error(error)
    show(error.message, error.inspect, *error.cause&.message)
    facts = { error: error.class.name, message: error.message, cause: error.cause&.class&.name }
    error.is_a?(Trunkline::Error) ? facts.merge(request: error.request.inspect) : facts
  end

  private

  def of_request(request)
    uri = request.uri
    texts = [request.url, request.target, request.body_string, *request.headers.to_a.flatten].compact
    { method: request.method, url: request.url, target: request.target, uri: [uri.host, uri.port, uri.path, uri.query],
      fields: request.headers.to_a, by_name: request.headers.to_h, body: request.body.class,
      string: request.body_string, length: request.content_length, template: request.template, follow: request.follow,
      streaming: request.streaming?, texts: texts.map { |text| [text.encoding.to_s, text.frozen?] }.tally }
  end
end
