# frozen_string_literal: true

# Random values of headers:.
class RequestFields
  NAMES = ["X-A", "x-a", :x_a, "X_A", "X-B", :"X-B", "Accept", "User-Agent", "user-agent", :user_agent, "Content-Type",
           :content_type, "Accept-Encoding", "Range", "Date", "TE", "Via", "Trailer", "Referer", "If-Match",
           "Keep-Alive", "Authorization"].freeze
  # The client itself sends these, or checks them.
  FRAMING = { "Host" => ["api.test", "api.test:80", "a b", "", "a,b", "[::1]", "x/y", nil, "\u00e9.test", "h\r\nx: y"],
              "Content-Length" => ["0", 5, "5", "x", "-1", "", "05", "1, 1", 2**64, nil, "9" * 18, " 5 "],
              "Connection" => ["close", "Close", "keep-alive", "close, x", "upgrade", "", nil, " close "],
              "Transfer-Encoding" => ["chunked", "gzip", "", nil, "identity"], "Expect" => ["100-continue", "", nil],
              "Upgrade" => ["h2c", nil, "websocket"], "HTTP2-Settings" => ["x"], "Keep-Alive" => ["x"] }.freeze
  CREDENTIALS = %w[Authorization authorization Cookie X-Api-Key Proxy-Authorization X-Secret].freeze
  SECRETS = ["c4n4ry", "Bearer c4n4ry", " c4n4ry", %w[c4n4ry x], -> { "c4n4ry" }, -> { %w[c4n4ry b] }].freeze
  BAD_SECRETS = ["a=c4n4ry\r\n", "c4n4ry\0", -> { "c4n4ry\r\n" }, ["c4n4ry", nil]].freeze
  VALUES = ["v", "", "a, b", "application/json", "text/plain; charset=utf-8", "gzip", "identity", "bytes=0-1", nil, 1,
            :sym, " padded\t", "\u00e9", "\xE9".b, %w[a b], [], ["a", 1, :b], 1.5, "a\tb", "\u00a0x\u00a0",
            "\u4142".encode("UTF-16BE"), " ", "\t \t", " \u3042 ".encode("EUC-JP")].freeze
  BAD_VALUES = ["a\r\nb: c", "a\0", "\x7f", [nil], [["a"]], true, Object, "ab".encode("UTF-16LE"), { a: 1 }].freeze
  COMPUTED = [-> { "computed" }, -> { %w[a b] }, -> {}, -> { [] }, -> { " x " }, -> { 1 }, -> { :x }, -> { "\u00e9" },
              -> { "a\r\nc4n4ry" }, -> { 1.0 }, -> { Object }, -> { raise IOError, "of the caller" },
              ["a", -> { "b" }]].freeze
  BAD_NAMES = ["", " ", "X A", "X:A", "X-A:", "X\r\nY", "X\0", "\u00e9", "\u4142".encode("UTF-16BE"),
               "AB".encode("UTF-16LE"), :"", :"x y", nil, 1, "X" * 70_000, "n" * 3000, "(x)", "X-A ", "\xFF", ["X"], :é,
               "a".encode("UTF-32LE"), RequestTexts::StringLike.new("X-A")].freeze
  KINDS = { hash: 18, pairs: 4, long: 2, headers: 1, other: 1 }.freeze
  FIELDS = { usual: 15, framing: 3, text: 4, array: 3, secret: 3, computed: 1, other: 1 }.freeze

  def initialize(dice, texts)
    @dice = dice
    @texts = texts
  end

  def any
    case @dice.weighted(KINDS)
    when :hash then @dice.many(0..4) { field }.to_h
    when :pairs then @dice.many(0..5) { field }
    when :long then @dice.many(0..30) { [@dice.pick(NAMES), @dice.pick(VALUES)] }.to_h
    when :headers then Trunkline::Headers.new(@dice.many(0..3) { [@dice.pick(%w[X-a X-b]), @dice.pick(%w[1 2])] })
    else other
    end
  end

  private

  def other
    @dice.pick([nil, {}, [], "X: y", [["X"]], [%w[X y z]], [nil], ["X-A: b"], { "X" => { "a" => 1 } }, @texts.odd,
                Class.new(Hash)["X-A", "b"], %w[X y], {}.each])
  end

  def field
    case @dice.weighted(FIELDS)
    when :usual then [@dice.mostly(NAMES, BAD_NAMES), @dice.mostly(VALUES, BAD_VALUES)]
    when :framing then framing
    when :text then [@dice.mostly(NAMES, BAD_NAMES), @texts.any]
    when :array then [@dice.pick(NAMES), @dice.many(0..3) { @dice.mostly(VALUES - [nil], BAD_VALUES) }.flatten]
    when :secret then [@dice.pick(CREDENTIALS), @dice.mostly(SECRETS, BAD_SECRETS)]
    when :computed then [@dice.pick(["X-A", :x, "Authorization", "Host", "Content-Type"]), @dice.pick(COMPUTED)]
    else [@texts.scalar, @texts.scalar]
    end
  end

  def framing
    name, values = @dice.pick(FRAMING.to_a)
    [@dice.pick([name, name.downcase]), @dice.pick(values)]
  end
end
