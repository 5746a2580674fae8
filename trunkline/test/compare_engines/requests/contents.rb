# frozen_string_literal: true

require "date"
require "json"
require "pathname"
require "set"
require "stringio"
require "tempfile"
require_relative "content_objects"

# Random contents of a call: body:, json:, form: and multipart:, alone or together.
class RequestContents
  KINDS = { body: 5, json: 3, form: 2, multipart: 2 }.freeze
  BODIES = { text: 11, io: 4, array: 2, chunks: 2, enumerator: 2, callable: 1, special: 2, other: 1 }.freeze
  IOS = { memory: 9, text: 2, file: 2, pipe: 2, latin: 1, bad: 2 }.freeze
  PARTS = { scalar: 7, io: 2, list: 1, path: 2, part: 3, other: 1 }.freeze
  PART_NAMES = ["a", :a, "n\"m", "\u00e9", "a\r\nb"].freeze
  CHUNKS = ["a", "bc", "", "\u00e9", "x" * 200, "\xFF".b, "ab".encode("UTF-16LE")].freeze
  BAD_CHUNKS = [nil, 1, :sym, IOError, ArgumentError, ["x"]].freeze
  CONSTANTS = [nil, true, false, 0, 1.5, Float::NAN, -Float::INFINITY, 2**70, "\u2028</script>", "\x7f"].freeze

  # @param file [String] path of a file that can be read
  def initialize(dice, texts, params, file)
    @dice = dice
    @texts = texts
    @params = params
    @file = file
  end

  # @return [Hash] options of a call
  def any
    return together if @dice.one_in?(30)

    kind = @dice.weighted(KINDS)
    { kind => of_kind(kind) }
  end

  private

  def together = @dice.some(KINDS.keys, 2..3).to_h { |kind| [kind, (of_kind(kind) unless @dice.one_in?(3))] }

  def of_kind(kind)
    case kind
    when :body then body
    when :json then json(3)
    when :form then @params.any
    else multipart
    end
  end

  def body
    case @dice.weighted(BODIES)
    when :text then @texts.any
    when :io then io
    when :array then chunks
    when :chunks then ContentObjects::Chunks.new(chunks)
    when :enumerator then enumerator
    when :callable then chunks.then { |list| -> { list.shift } }
    when :special then @dice.pick([ContentObjects::Reader.new(chunks), tempfile, Pathname(@file), "z" * 150_000,
                                   @dice.bytes(20_001)])
    else @dice.pick([nil, false, true, 1, :sym, {}, { a: 1 }, Object.new, 1.5, String, @texts.odd, Pathname("missing"),
                     Pathname("."), RequestTexts::StringLike.new("x")])
    end
  end

  def chunks
    list = @dice.many(0..4) { @dice.pick(CHUNKS) }
    @dice.one_in?(10) ? [*list, @dice.pick(BAD_CHUNKS)] : list
  end

  def enumerator
    list = chunks
    @dice.pick([list.each, list.lazy, list.to_set, ContentObjects::Chunks.new(list).lazy.map(&:itself)])
  end

  def io
    case @dice.weighted(IOS)
    when :memory then StringIO.new(+"of a StringIO").tap { |io| io.pos = @dice.mostly([0, 3], [13, 20]) }
    when :text then StringIO.new(@texts.any)
    when :file then opened(@file).tap { |io| io.pos = @dice.mostly([0, 2], [1000]) }
    when :pipe then IO.pipe.then { |reader, writer| writer.write("of a pipe") && writer.close && reader }
    when :latin then opened(@file, "r:ISO-8859-1")
    else @dice.pick([StringIO.new("closed").tap(&:close), opened(".", "r")])
    end
  end

  def opened(path, mode = "rb") = File.open(path, mode)

  # The name of a Tempfile is random, so none is a part of a form.
  def tempfile = Tempfile.new.tap { |io| io.write("of a Tempfile") && io.rewind && (@dice.one_in?(2) || io.close) }

  def multipart
    case @dice.int(0..19)
    when 0..10 then @dice.many(0..3) { [@dice.mostly([@texts.any, @texts.symbol], [@texts.scalar]), part] }.to_h
    when 11..18 then @dice.many(0..3) { [@dice.pick(PART_NAMES), part] }
    else @dice.pick([nil, {}, [], "x", [["a"]], { a: nil }, { a: { b: 1 } }, [%w[a b c]], { "a" => [] }, @texts.odd])
    end
  end

  def part
    case @dice.weighted(PARTS)
    when :scalar then @texts.scalar
    when :io then io
    when :list then @dice.many(0..2) { @dice.one_in?(2) ? @texts.scalar : io }
    when :path then Pathname(@file)
    when :part then named_part
    else @dice.pick([ContentObjects::Chunks.new(%w[a b]), -> {}, { content: "x" }, ContentObjects::Reader.new(["x"])])
    end
  end

  def named_part
    options = { filename: @texts.any, content_type: @dice.mostly(["text/plain"], [@texts.any]),
                headers: { "X-Note" => @dice.mostly(["x", "\u00e9", "\xE9".b], ["a\nb"]) } }
    Trunkline::Part.new(@dice.one_in?(2) ? @texts.any : io, **@dice.some(options.to_a, 0..3).to_h)
  rescue Trunkline::InvalidRequest
    "part"
  end

  def json(depth)
    case @dice.int(0..(depth.zero? ? 6 : 9))
    when 0..4 then @texts.scalar
    when 5 then @dice.pick([ContentObjects::OwnJSON.new, ContentObjects::OwnHash.new, Struct.new(:a).new(1), Date,
                            ContentObjects::Chunks.new(%w[a]), Time.at(0).utc, Date.new(2020, 1, 2)])
    when 6 then @dice.pick(CONSTANTS)
    when 7, 8 then @dice.many(0..3) { [@texts.scalar, json(depth - 1)] }.to_h
    else @dice.many(0..3) { json(depth - 1) }
    end
  end
end
