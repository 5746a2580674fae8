# frozen_string_literal: true

require_relative "dice"
require_relative "texts"
require_relative "urls"
require_relative "params"
require_relative "fields"
require_relative "contents"
require_relative "options"

# A random client with its calls. The same seed and number make the same case; its objects can be used once.
class RequestCase
  VERBS = (%i[get post] * 4 + %i[put patch delete head options trace]).freeze
  METHODS = ["GET", "PROPFIND", :get, :post, "get", "M-SEARCH", "POST", :propfind, "GET".b, "X" * 300, "PATCH", :Get,
             "!#$%&'*+-.^_`|~0", :m_search, "HEAD", "PUT", "GET".encode("US-ASCII"), "OPTIONS", "DELETE"].freeze
  BAD_METHODS = ["CONNECT", :connect, "G T", "", nil, 1, "GET\r\n", "\u00e9", "GET".encode("UTF-16LE"), ["GET"],
                 "\u4745".encode("UTF-16BE"), :"", :"a b", "TRACE", :trace, "\xFF", "GET ",
                 RequestTexts::StringLike.new("GET")].freeze
  STYLES = { verb: 5, request: 3, batch: 1, map: 1, map_hash: 1, each: 1, async: 1, with: 1, streamed: 1,
             block: 1 }.freeze
  # The styles whose options may be anything.
  WITH_ANY_OPTIONS = %i[verb request batch map each async block].freeze
  # How the requests are sent.
  ROUTES = { direct: 9, h2: 2, proxy: 2, unix: 1 }.freeze
  ANSWERS = [[302, { "Location" => "/next?x=1" }], [303, { "Location" => "next" }], [301, { "Location" => "?q" }],
             [307, { "Location" => "//localhost:PORT/n" }], [308, { "Location" => "http://localhost:PORT/moved#f" }],
             [302, { "Location" => "/caf\u00e9 x" }], [302, { "Location" => "ftp://x/" }], [500, {}],
             [401, { "WWW-Authenticate" => "Basic realm=\"x\"" }], [200, { "Set-Cookie" => "a=b; Path=/" }],
             [401, { "WWW-Authenticate" => "Digest realm=\"x\", nonce=\"n\", qop=\"auth\"" }]].freeze
  # style: how the call is made; verb: the method; options: nil for none
  Call = Struct.new(:style, :verb, :url, :options)

  # base: URL of the client, or nil; options: of the client; answers: of the server, before those with the status 200
  attr_reader :number, :base, :options, :calls, :answers

  # @param recorder [RequestRecorder]
  def initialize(seed, number, recorder)
    @number = number
    @recorder = recorder
    @dice = Dice.new((seed * 1_000_037) + number)
    @route = @dice.weighted(ROUTES)
    make_generators
    @remote = @route != :h2 && @dice.one_in?(3)
    @base = @urls.absolute(@remote) unless @dice.one_in?(3)
    @options = client_options
    @calls = @dice.many(1..3) { call }
    @answers = @dice.one_in?(5) ? @dice.many(1..2) { @dice.pick(ANSWERS) } : []
  end

  # @return [Hash] options of a client that is not refused
  def least_options = { timeout: { total: 5 }, max_idle: 4, **route_options }

  # @return [Boolean] whether a call may have a body with a random boundary
  def multipart? = calls.any? { |call| call.options.is_a?(Hash) && call.options.key?(:multipart) }

  def to_s
    lines = calls.map { |one| "#{one.style} #{[one.verb, one.url, one.options].map(&:inspect).join(", ")}" }
    ["Trunkline.new(#{base.inspect}, #{options.inspect})", *lines, "answers: #{answers}"].map { |line| line[0, 1000] }
      .join("\n  ")
  end

  private

  def make_generators
    texts = RequestTexts.new(@dice)
    @urls = RequestURLs.new(@dice, texts, @recorder.port)
    @params = RequestParams.new(@dice, texts)
    @fields = RequestFields.new(@dice, texts)
    @contents = RequestContents.new(@dice, texts, @params, @recorder.file)
    @others = RequestOptions.new(@dice)
  end

  def client_options
    all = least_options
    all[:headers] = @fields.any if @dice.one_in?(3)
    all[:params] = @params.any if @dice.one_in?(5)
    all.merge!(@others.of_client) if @dice.one_in?(2)
    all.merge!(@others.wrong) if @dice.one_in?(15)
    all
  end

  # @return [Hash] options that lead every request to the recorder
  def route_options
    case @route
    when :proxy then { proxy: "http://#{"u:c4n4ry@" if @dice.one_in?(3)}127.0.0.1:#{@recorder.port}" }
    when :unix then { unix: @recorder.path, proxy: false }
    when :h2 then { http: :h2, proxy: false }
    else { proxy: false, **(@remote ? { connect_to: "127.0.0.1:#{@recorder.port}" } : {}) }
    end
  end

  def call
    options = call_options
    style = @dice.weighted(STYLES)
    style = :verb unless options.is_a?(Hash) || WITH_ANY_OPTIONS.include?(style)
    verb = style != :request && !@dice.one_in?(6) ? @dice.pick(VERBS) : @dice.mostly(METHODS, BAD_METHODS)
    Call.new(style, verb, @urls.of_call(@remote, !@base.nil?), options)
  end

  def call_options
    return @dice.mostly([nil, {}], [[], "x", 1]) if @dice.one_in?(10)

    all = {}
    all[:headers] = @fields.any if @dice.one_in?(3)
    all[:params] = @params.any if @dice.one_in?(3)
    all.merge!(@contents.any) if @dice.one_in?(2)
    all.merge!(@others.of_call) if @dice.one_in?(3)
    all.merge!(@others.wrong) if @dice.one_in?(30)
    all
  end
end
