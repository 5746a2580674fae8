# frozen_string_literal: true

require "stringio"

# Compares the output that an example of the documentation shows with its actual output. Loaded by the program that
# Snippets makes from a page.
#
#   expression # => value       the value's inspect
#   # prints: text              a line that the block prints; a block that has some prints nothing else
module ExampleOutput
  class Differs < StandardError; end

  class << self
    # The address of the local server, and the page's placeholder for it, which replaces it in compared texts.
    attr_accessor :url, :placeholder

    # @return [Object] value
    def value(value, text, place)
      compare(inspected(value), text, place)
      value
    end

    # @param lines [Array<String>]
    # @yield prints them
    def output(lines, place)
      before = [$stdout, $stderr]
      $stdout = $stderr = printed = StringIO.new
      yield
      $stdout, $stderr = before
      compare(printed.string.chomp, lines.join("\n"), place)
    ensure
      $stdout, $stderr = before
    end

    private

    # Formats like Rubies before 3.4, which write {:a=>1}.
    def inspected(value)
      case value
      when Hash then "{#{value.map { |key, one| "#{inspected(key)}=>#{inspected(one)}" }.join(", ")}}"
      when Array then "[#{value.map { |one| inspected(one) }.join(", ")}]"
      else value.inspect
      end
    end

    def compare(given, text, place)
      given = given.gsub(url, placeholder).gsub(url.delete_prefix("http://"), "api.test:443")
      raise Differs, "#{place}: the page says #{text}\nit is #{given}" unless given == text
    end
  end
end
