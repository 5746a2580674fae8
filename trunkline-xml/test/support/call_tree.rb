# frozen_string_literal: true

require "stringio"

# A random tree of calls to a builder, and the result of making them, to compare two builders.
class CallTree
  # An object whose to_s returns something other than a String, or raises.
  class Odd
    def initialize(value) = @value = value
    def inspect = "#<Odd #{@value.inspect}>"

    def to_s
      raise KeyError, "to_s failed" if @value == :raise

      @value
    end
  end

  class Text < String; end

  NAMES = %i[a b item a-b soap:Env é _own to_s class p id x= [] + y? z! send].freeze
  TEXTS = [
    "", "plain", "a & b < c > d", "\"quoted\" 'single'", "line\nbreak\r\n\ttab", "caf\u00e9 \u20ac", "\u{1F600} emoji",
    "c1 \u0080\u0081\u0085\u008d\u009f", "nul\0 bell\a esc\e", "\ufffe\uffff\ufffd\u{10ffff}\ufdd0", "]]>", "a]]>b]]>",
    "caf\xE9", "caf\xE9 \xE2\x80\x99", "\x80\x92 it\x92s".b, "caf\u00e9".b, "ascii".b, "\x01 & \xff".b,
    "caf\u00e9".encode("ISO-8859-1"), "\x92".dup.force_encoding("Windows-1252"),
    "\x81".dup.force_encoding("Windows-1252"), "\u65e5\u672c".encode("Shift_JIS"), "\u65e5".encode("EUC-JP"),
    "utf16 \u00e9".encode("UTF-16LE"), "".encode("UTF-16BE"), "us".encode("US-ASCII"),
    "\xFF".dup.force_encoding("US-ASCII"), "long " * 40, "#{"x" * 15}&", "#{"x" * 16}<", "é" * 33, "&" * 20,
    Text.new("sub & class"), "--", "?>", " "
  ].each(&:freeze).push("caf\xE9 \x92".b, "caf\u00e9".b, +"mutable").freeze
  OTHERS = [nil, true, false, 0, -17, 2**70, 3.25, 1e100, :symbol, :"sym & < \"", [1, "two"], Odd.new(nil), Odd.new(65),
            Odd.new("odd <"), Odd.new(:raise), Odd.new(:sym), 1r, (1..2)].freeze
  KEYS = [:a, :b, :"c-d", "a", "s", :é, "\u00fc", :version, :encoding, "encoding", :standalone, 5, nil,
          "\u00e9".encode("ISO-8859-1").freeze, "k\xE9".b.freeze].freeze
  ENCODINGS = ["UTF-8", "utf-8", "Utf-8", "ISO-8859-1", "Shift_JIS", "US-ASCII", "UTF-16LE", "UTF-16", "UTF8", "utf_8",
               "UCS-2", "Windows-1252", "EUC-JP", "ISO-2022-JP", "", nil, :utf, "locale", "internal"].freeze
  TARGETS = %i[default string ascii latin1 binary utf16 frozen array io builder text].freeze

  attr_reader :seed, :options, :calls

  def initialize(seed)
    @seed = seed
    @random = Random.new(seed)
    @options = random_options
    @target = one_in(3) ? pick(TARGETS) : pick(%i[default string array])
    @calls = Array.new(@random.rand(1..5)) { random_call(0) }
  end

  # @return [Hash] everything that is visible to a user
  def play(builder_class)
    target = make_target(builder_class)
    options = target ? @options.merge(target: target) : @options
    log = []
    xml = builder_class.new(options)
    ended = catch(:away) do
      run(xml, @calls, log)
      :ran
    rescue StandardError => error
      name_of(error)
    end
    { ended: ended, log: log, output: describe(xml.target!), nil_option: xml.explicit_nil_handling? }
  end

  def to_s
    "seed #{@seed}\noptions #{@options.inspect}\ntarget #{@target}\ncalls #{@calls.inspect}"
  end

  private

  # Returns the class name without the module, since each library defines its own IllegalBlockError.
  def name_of(error) = error.class.name.split("::").last

  def pick(list) = list[@random.rand(list.size)]
  def one_in(number) = @random.rand(number).zero?

  def random_options
    options = {}
    options[:indent] = pick([0, 1, 2, 2, 2, 4, nil]) unless one_in(3)
    options[:margin] = pick([0, 1, 3, nil]) if one_in(4)
    options[:quote] = pick([:single, :double, "single", nil]) if one_in(3)
    options[:explicit_nil_handling] = pick([true, false, nil, :yes]) if one_in(3)
    options[:indent] = pick(["2", -1, 2.5, 0.0, 2000]) if one_in(25)
    options[:margin] = pick(["2", -1, 1.5]) if one_in(40)
    options
  end

  def random_call(depth)
    call = case @random.rand(20)
           when 0..10 then [:tag, pick(NAMES), random_arguments, random_children(depth)]
           when 11 then [:call, :tag!, [pick([*NAMES, "string", "", nil, 5, "caf\u00e9"]), *random_arguments],
                         random_children(depth)]
           when 12 then [:call, :text!, [pick(one_in(8) ? OTHERS : TEXTS)], nil]
           when 13 then [:call, :<<, [pick(one_in(6) ? OTHERS : TEXTS)], nil]
           when 14 then [:call, :cdata!, [pick(one_in(8) ? OTHERS : TEXTS)], illegal_children]
           when 15 then [:call, :cdata_value!, [pick(NAMES), pick(one_in(8) ? OTHERS : TEXTS)], illegal_children]
           when 16 then [:call, :comment!, [pick(one_in(5) ? OTHERS : TEXTS)], illegal_children]
           when 17 then [:call, :declare!, [pick([:DOCTYPE, :ELEMENT, "s", :é, 7]), *random_declared],
                         random_children(depth)]
           when 18 then one_in(6) ? random_missing(depth) : [:call, :instruct!, random_instruction, illegal_children]
           else pick([[:raise], [:throw], [:break], [:target], [:nil?], [:arity], [:lambda], [:wrong], [:alias]])
           end
    [one_in(6), *call]
  end

  # A call as made by a subclass that overrides method_missing and changes the name.
  def random_missing(depth)
    [:call, :method_missing, [pick([*NAMES, "string", "", nil, 5, "caf\u00e9"]), *random_arguments],
     random_children(depth)]
  end

  def random_children(depth)
    return unless @random.rand(10) < 4 && depth < 4

    Array.new(@random.rand(0..4)) { random_call(depth + 1) }
  end

  def illegal_children = one_in(15) ? [] : nil

  def random_arguments
    Array.new([0, 1, 1, 1, 2, 3][@random.rand(6)]) do
      case @random.rand(12)
      when 0..4 then pick(TEXTS)
      when 5 then pick(OTHERS)
      when 6 then nil
      when 7 then pick(%i[ns other é])
      else random_attributes
      end
    end
  end

  def random_attributes
    pairs = Array.new(@random.rand(0..3)) { [pick(KEYS), one_in(3) ? pick(OTHERS) : pick(TEXTS)] }
    return pairs.to_h unless one_in(8)

    pairs.each_with_object({}.compare_by_identity) { |(key, value), hash| hash[key.dup] = value }
  end

  def random_declared
    Array.new(@random.rand(0..3)) do
      pick([:html, :PUBLIC, "-//W3C//DTD", "caf\u00e9", "\u00e9".encode("ISO-8859-1"), 5, nil, :é])
    end
  end

  def random_instruction
    arguments = []
    arguments << pick([:xml, :xml, :xml, :"xml-stylesheet", "xml", nil, 3]) unless one_in(4)
    return arguments unless arguments.any? && !one_in(3)

    attributes = random_attributes
    attributes[:encoding] = pick(one_in(3) ? ENCODINGS : ["UTF-8"]) if one_in(2)
    arguments << (one_in(20) ? pick([nil, "text"]) : attributes)
  end

  def make_target(builder_class)
    case @target
    when :string then +"before \u00e9 "
    when :ascii then "ascii ".encode("US-ASCII")
    when :latin1 then "caf\u00e9".encode("ISO-8859-1")
    when :binary then "\xff".b
    when :utf16 then "".encode("UTF-16LE")
    when :frozen then "frozen"
    when :array then []
    when :io then StringIO.new(+"")
    when :builder then builder_class.new(indent: 1)
    when :text then Text.new("sub")
    end
  end

  def run(xml, calls, log)
    calls.each do |rescued, *call|
      result = rescued ? attempt(xml, call, log) : perform(xml, call, log)
      log << describe_result(xml, result)
    end
  end

  def attempt(xml, call, log)
    perform(xml, call, log)
  rescue StandardError => error
    log << name_of(error)
    :rescued
  end

  def perform(xml, (kind, name, arguments, children), log)
    case kind
    when :tag, :call then send_call(xml, name, arguments, children, log)
    when :raise then raise IndexError, "on purpose"
    when :throw then throw :away, :thrown
    when :break then xml.left { break :broken }
    when :target then xml.target!
    when :nil? then xml.nil?
    when :arity then xml.two { |_one, _two| xml.never }
    when :lambda then xml.strict(&-> { xml.never })
    when :wrong then xml.text!
    when :alias then xml.own(xml.target!, of: xml.target!) unless %i[builder io].include?(@target)
    end
  end

  def send_call(xml, name, arguments, children, log)
    return xml.__send__(name, *arguments) unless children

    xml.__send__(name, *arguments) do |inner|
      log << inner.equal?(xml)
      run(inner, children, log)
    end
  end

  def describe_result(xml, result)
    return :target if result.equal?(xml.target!)

    case result
    when Symbol, nil, true, false, Integer then result
    when String then [result.b, result.encoding]
    else :other
    end
  end

  def describe(target)
    case target
    when String then [target.class, target.b, target.encoding]
    when Array then target.map { |fragment| fragment.is_a?(String) ? describe(fragment) : fragment }
    when StringIO then describe(target.string)
    else describe(target.target!)
    end
  end
end
