# frozen_string_literal: true

require_relative "../../trunkline/lib/trunkline/options"

# Writes the lists of options in the documentation and the signatures from the table of options.
class OptionLists
  ROOT = File.expand_path("../..", __dir__)
  # The kinds of options in each table of docs/options.md.
  TABLES = { "client" => %i[both client], "call" => %i[call], "many" => %i[many], "process" => %i[process] }.freeze
  # RBS types for which docs/options.md uses YARD types.
  YARD_TYPES = {
    "timeout" => "Numeric, Hash, Timeouts", "seconds" => "Numeric", "bool" => "Boolean", "path" => "String, Pathname",
    "headers" => "Hash, Array", "params" => "Hash, Array", "body" => "Object", "multipart" => "Hash, Array",
    "[String, String]" => "Array(String, String)", "Array[String]" => "Array<String>",
    "Array[field_name]" => "Array<String, Symbol>", "Hash[String, String]" => "Hash{String => String}",
    "{ ?idle: Integer, ?interval: Integer }" => "Hash", "{ ?above: Integer, ?wait: seconds }" => "Hash",
    "untyped" => "Object", "_Signer" => "#sign, #retry?", "_EarlyHints" => "#call",
    "_TransferProgress" => "#call",
    "client_cert" => "String, Pathname, OpenSSL::X509::Certificate, Array, OpenSSL::PKCS12",
    "client_key" => "String, Pathname, OpenSSL::PKey::PKey",
    "_Token" => "#call", "_Credentials" => "#call", "_JSONEncoder" => "#call", "_JSONDecoder" => "#call",
    "^(String, Response) -> void" => "#call", "^(ServerSentEvent, Response) -> void" => "#call",
    "_DeprecationHandler" => "#call", "_Warns" => "#warn", "_Logs" => "#info"
  }.freeze

  # @param options [Array<Trunkline::Options::Option>]
  def initialize(options = Trunkline::Options::TABLE.values)
    @options = options
  end

  # @return [Hash{String => String}] the new content of each file, by path
  def files
    {
      "docs/options.md" => :page,
      "trunkline/sig/trunkline.rbs" => :records, "trunkline/sig/trunkline/client.rbs" => :writers
    }.to_h { |path, kind| [path, send(kind, File.read(File.join(ROOT, path)))] }
  end

  private

  def set_by(*kinds) = @options.select { |option| kinds.include?(option.set_by) }

  def page(text)
    TABLES.reduce(text) do |changed, (name, kinds)|
      rows = set_by(*kinds).map { |option| row(option) }
      replace(changed, %r{(?<=^<!-- options: #{name} -->\n).*?(?=^<!-- /options -->$)}m,
              ["", "| option | takes | default | what it is |", "|---|---|---|---|", *rows, ""])
    end
  end

  def row(option)
    doc = option.set_by == :client ? "#{option.doc}; an option of `Trunkline.new` alone" : option.doc
    takes = yard_type(option.type).sub(/, nil\z/, "")
    "| `#{option.name}:` | #{takes} | #{option.default_doc || "none"} | #{doc} |"
  end

  def yard_type(type)
    with_nil = type.sub(/\A\((.+)\)\?\z/, '\1 | nil').sub(/\?\z/, " | nil")
    with_nil.split(" | ").map { |part| yard_part(part) }.uniq.join(", ")
  end

  def yard_part(part)
    case part
    when /\A:/ then "Symbol"
    when /\A"/ then "String"
    else YARD_TYPES.fetch(part, part)
    end
  end

  def records(text)
    { "options" => %i[both client], "call_options" => %i[call both] }.reduce(text) do |changed, (name, kinds)|
      fields = kinds.flat_map { |kind| set_by(kind) }.map { |option| "    ?#{option.name}: #{option.type}" }
      replace(changed, /(?<=^  type #{name} = \{\n).*?(?=^  \}$)/m, [fields.join(",\n")])
    end
  end

  def writers(text)
    lines = set_by(:both, :client, :process).map { |option| "    attr_writer #{option.name}: #{option.type}" }
    replace(text, /^(?:    attr_writer [^\n]*\n)+/, lines)
  end

  def replace(text, part, lines)
    raise "no such part: #{part.inspect}" unless text.match?(part)

    text.sub(part) { lines.map { |line| "#{line}\n" }.join }
  end
end
