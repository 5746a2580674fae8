# frozen_string_literal: true

require_relative "case"
require_relative "facts"

# Makes the calls of a case, and collects what the caller and the server get.
class RequestOutcome
  # What differs between two runs with the same engine.
  VARYING = { /trunkline-\h{32}/ => "BOUNDARY", /0x\h{8,}/ => "ADDRESS", /value-of-each-attempt-\h{32}/ => "VALUE",
              /(cnonce|response)=(\\?")\h*/ => "\\1=\\2DIGEST", /\b\d+(\.\d+)? ?(ms|s)\b/ => "TIME",
              /(x-left(?:: |\\?"(?:, |=>)\\?"))[\d.]+/i => "\\1TIME", /\d{8}-\d+-[a-z0-9]+/ => "TEMPFILE" }.freeze
  # The digest of a body, which varies with a boundary.
  DIGEST = %r{sha-(256|512)=:[\w+/=]+:}

  # @param one [RequestCase]
  # @param recorder [RequestRecorder]
  def initialize(one, recorder)
    @one = one
    @recorder = recorder
    @facts = RequestFacts.new
  end

  # @return [Hash]
  def to_h
    @recorder.answers = @one.answers
    calls = facts_of_calls.map { |call| call.transform_values { |value| masked(value.inspect) } }
    # Calls in the background may open their connections in another order.
    { number: @one.number, calls: calls, sent: @recorder.take.map { |bytes| masked(bytes) }.sort,
      leaks: @facts.leaks.map { |text| masked(text) } }
  end

  private

  # When the client is refused, the calls are made with another one.
  def facts_of_calls
    client, refusal = make_client
    [refusal, *@one.calls.map { |call| facts_of_call(client, call) }].compact
  ensure
    client&.close
  end

  # @return [Array(Client, Hash)] and the facts of the error of a client that was refused, or nil
  def make_client
    client = Trunkline.new(@one.base, **@one.options)
    @facts.show(client.inspect)
    [client, nil]
  rescue StandardError => error
    [Trunkline.new("http://127.0.0.1:#{@recorder.port}", **@one.least_options), @facts.of_error(error)]
  end

  def facts_of_call(client, call)
    result = result_of(client, call)
    result.is_a?(Exception) ? @facts.of_error(result) : @facts.of_response(result)
  rescue StandardError => error
    @facts.of_error(error)
  end

  # @return [Response, Exception]
  def result_of(client, call)
    verb, url, options = call.to_a.drop(1)
    case call.style
    when :verb then client.public_send(*sent(verb), url, options)
    when :request then client.request(verb, url, options)
    when :with then with(client, options).request(verb, url, options.slice(*Trunkline::Options::CALL_ONLY))
    when :streamed then client.request(verb, url, stream: true, **options).tap(&:body)
    when :block then client.request(verb, url, options) { |chunk| chunk }
    else result_among_many(client, call.style, verb, url, options)
    end
  end

  def result_among_many(client, style, verb, url, options)
    case style
    when :batch then client.batch { |batch| batch.public_send(*sent(verb), url, options) }.first
    when :map then client.map([[verb, url, options]]).first
    when :map_hash then client.map([{ method: verb, url: url, **options }]).first
    when :each then client.each([url]).first.last
    when :async then client.async.public_send(*sent(verb), url, options).value
    end
  end

  def with(client, options) = client.with(**options.slice(*Trunkline::Options::NAMES))

  # @return [Array] the client's method, and for #request its first argument
  def sent(verb) = RequestCase::VERBS.include?(verb) ? [verb] : [:request, verb]

  # @return [String] UTF-8
  def masked(text)
    text = text.b.gsub(/(?<!\d)#{@recorder.port}/, "PORT").gsub(@recorder.path, "SOCKET")
    VARYING.each { |pattern, name| text = text.gsub(pattern, name) }
    text = text.gsub(DIGEST, "DIGEST") if @one.multipart?
    text.force_encoding("UTF-8").scrub { |bytes| "<#{bytes.unpack1("H*")}>" }
  end
end
