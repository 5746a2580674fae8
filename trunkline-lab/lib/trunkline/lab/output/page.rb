# frozen_string_literal: true

require "cgi"
require "erb"
require_relative "../environment"
require_relative "svg"

module Trunkline
  module Lab
    module Output
      # One self-contained page: nothing is loaded from anywhere.
      class Page
        TEMPLATE = ERB.new(File.read(File.join(__dir__, "page.html.erb")), trim_mode: "-")
        STYLE = File.read(File.join(__dir__, "page.css"))
        SCRIPT = File.read(File.join(__dir__, "page.js"))
        NUMBER = /\A[<>~-]?[\d.,]+\s*(%|x|us|ms|s)?\z/

        # @param results [Array<Hash>] as Result.read gives them
        def initialize(results) = @results = results

        def to_s = TEMPLATE.result(binding)

        private

        def title = @results.size == 1 ? @results.first[:title] : "Trunkline lab: #{@results.size} experiments"

        def id(result) = "#{result[:command]}-#{@results.index { |one| one.equal?(result) } + 1}"

        def state(result) = Result::STATES.fetch(result[:state])

        def chart(chart) = SVG.new(chart).to_s

        def cell(value, first:)
          return "<th scope=\"row\">#{h(value)}</th>" if first

          number = value.is_a?(Numeric) || NUMBER.match?(value.to_s)
          "<td#{" class=\"number\"" if number}>#{h(value)}</td>"
        end

        def preformatted?(sentence) = sentence.include?("\n")

        def h(text) = CGI.escapeHTML(text.to_s)
      end
    end
  end
end
