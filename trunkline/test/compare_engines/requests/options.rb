# frozen_string_literal: true

# Random options of a client or a call, other than those of what is sent: valid ones, and wrong ones of every name.
class RequestOptions
  USUAL = {
    bearer: ["c4n4ry", "c4n4ry==", nil, -> { "c4n4ry" }, -> {}],
    basic: [%w[u c4n4ry], ["u", ""], ["", "c4n4ry"], nil, %W[\u00e9 c4n4ry\u00e9], ["u", "\xFFc4n4ry"],
            ["\xE9".dup.force_encoding("ISO-8859-1"), "\u00e9c4n4ry"], -> { %w[u c4n4ry] }],
    digest: [%w[u c4n4ry], nil], follow: [true, false, 1, 2, 1000, nil], early_hints: [nil, ->(_) {}],
    decode: [true, false], expect: [false, nil, 1, 0.5, {}, { above: 0 }, { above: 5, wait: 0.2 }],
    cookies: [true, false, nil], app_name: ["shop", "my shop", nil], app_env: ["test", nil],
    credential_headers: [["X-A"], [:x_a], []], content_digest: [true, false, "sha-256", "sha-512", nil],
    http: %i[h1 auto], raise: [true, false], replay: %i[safe never], deadline_header: ["X-Left", nil, false],
    template: ["/users/:id"], stream: [true, false], progress: [nil, false, ->(_) {}],
    params: [{ a: 1 }, { "a" => 2, b: nil }, [%w[a 3]]], retry: [true, false, nil], use: [false, []],
    json_encoder: [:inspect.to_proc, nil], redact: [["x"], [:x]], timeout: [{ total: 5 }, { connect: 2 }, 5r, 4],
    max_body_bytes: [nil, 100], hedge: [nil, false], rate: [nil], coalesce: [true, nil], cache: [false, nil],
    log: [:line, :headers, :bodies, false, nil], curl: [true, false]
  }.freeze
  BAD = {
    bearer: ["", "a b", "\u00e9", :sym, 1, false, "c4n4ry\n", -> { "a b" }, -> { 1 }],
    basic: [%w[u:x c4n4ry], %w[u], %w[u c4n4ry x], "u:c4n4ry", ["u", nil], false, %W[u c4n4ry\n], %i[u p], -> { "u" },
            ["u".encode("UTF-16LE"), "c4n4ry"]],
    digest: [%w[u], "u:c4n4ry"], follow: [0, 1001, -1, 1.0, "1", :yes], early_hints: [1, :sym], decode: [nil, 1],
    expect: [true, { wait: 0 }, { x: 1 }, "1"], cookies: [1], app_name: ["", "(x)", :shop, "caf\u00e9"],
    app_env: ["", 1], credential_headers: [nil, "X-A", ["a b"], [1]], content_digest: ["md5", 1],
    http: ["h2", nil, :h3], raise: [nil, 1], replay: [true, nil], deadline_header: ["a b", :x_left, true],
    template: [nil, 1, :sym, "\xFF"], stream: [nil, 1], progress: [1, :sym], params: [1, [1], "a", false], retry: [1],
    use: [nil, 1], json_encoder: [->(_) {}, 1], redact: ["x", [""], nil], max_body_bytes: ["1", -1], hedge: [1],
    timeout: [0, -1, nil, "5", { x: 1 }, Float::NAN, 2**70], decode_ratio: [1], user_agent: ["x"], header: [{}],
    data: ["c4n4ry"], Headers: [{}], "headers" => [{}], "timeout" => [1], 1 => [2], nil => [1]
  }.freeze
  CALL_ONLY = %i[template stream progress].freeze
  PER_CALL = %i[bearer basic follow early_hints template stream progress params timeout].freeze
  WRONG = [nil, true, false, 0, -1, 1.5, Float::NAN, Float::INFINITY, "", "\0", "\xFF", "a b", "x" * 300, :x, :"", [],
           [nil], [1], %w[a b], {}, { a: 1 }, { "a" => "b" }, Object.new, String, -> {}, 1..2, 1r, 2i, Time.at(0).utc,
           2**70, -(2**70), "\u20ac".encode("UTF-16LE"), BasicObject, RequestTexts::StringLike.new("like")].freeze
  # With these, a wrong value can lead to a look-up of a name, to a file that is written, or to a wait.
  LEFT_OUT = %i[connect_to proxy keylog unix netrc logger progress stream on_event on_chunk].freeze

  def initialize(dice)
    @dice = dice
  end

  # @return [Hash] for a client
  def of_client = chosen(USUAL.keys - CALL_ONLY, 0..3)

  # @return [Hash] for a call
  def of_call = chosen(@dice.one_in?(4) ? USUAL.keys : PER_CALL, 1..2)

  # @return [Hash] one option with a value of a random class
  def wrong
    { @dice.pick(Trunkline::Options::NAMES + Trunkline::Options::CALL_ONLY - LEFT_OUT) => @dice.pick(WRONG) }
  end

  private

  def chosen(names, range)
    usual = @dice.some(names, range).to_h { |name| [name, @dice.pick(USUAL.fetch(name))] }
    return usual unless @dice.one_in?(8)

    name = @dice.pick(BAD.keys)
    usual.merge(name => @dice.pick(BAD.fetch(name)))
  end
end
