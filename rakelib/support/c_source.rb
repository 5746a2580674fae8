# frozen_string_literal: true

# Rules for C sources that neither the compiler nor clang-format checks. The sources are in the format of clang-format:
# declarations and the ends of functions begin in the first column.
module CSource
  FUNCTION_LINES = 60 # a function has fewer
  FUNCTION = /\A(?!typedef|return)[A-Za-z_][\w\s*()]*?\b(\w+)\(/
  COMMENT = %r{/\*.*\*/\z}

  module_function

  # Returns a sentence for each function of a header that has no comment: directly above it, or after its declaration.
  # Declarations of one line share the comment above the first of them, up to the next blank line or definition.
  def uncommented(path)
    commented = false
    blocks(path).filter_map do |number, lines|
      first = lines.first
      commented = !first.empty? if first.empty? || first.start_with?("/*")
      next unless (name = first[FUNCTION, 1])

      fault = "#{path}:#{number}: #{name} has no comment" unless commented || lines.last.match?(COMMENT)
      commented = false if lines.last == "}"
      fault
    end
  end

  # Returns a sentence for each function that is too long.
  def long_functions(path)
    blocks(path).filter_map do |number, lines|
      next unless lines.last == "}" && lines.size >= FUNCTION_LINES

      "#{path}:#{number}: #{lines.first[FUNCTION, 1]} has #{lines.size} lines; the most are #{FUNCTION_LINES - 1}"
    end
  end

  # Returns the comments, declarations, definitions, directives and blank lines of a file, each with the number of its
  # first line.
  def blocks(path)
    lines = File.readlines(path, chomp: true)
    found = []
    number = 1
    until lines.empty?
      found << [number, lines.shift(block_size(lines))]
      number += found.last.last.size
    end
    found
  end

  def block_size(lines)
    last = case lines.first
           when "" then 0
           when %r{\A/\*} then lines.index { |line| line.include?("*/") }
           when /\A#/ then lines.index { |line| !line.end_with?("\\") }
           else lines.index { |line| line.match?(/[;{]\z|\*\/\z/) }
           end
    last = lines.index { |line| line.start_with?("}") } if last && lines[last].end_with?("{")
    (last || (lines.size - 1)) + 1
  end
end
