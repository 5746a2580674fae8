# frozen_string_literal: true

require "cgi"
require "erb"
require_relative "../environment"
require_relative "svg"
require_relative "text_table"

module Trunkline
  module Lab
    module Output
      # One self-contained page: nothing is loaded from anywhere.
      class Page
        TEMPLATE = ERB.new(File.read(File.join(__dir__, "page.html.erb")), trim_mode: "-")
        STYLE = File.read(File.join(__dir__, "page.css"))
        SCRIPT = File.read(File.join(__dir__, "page.js"))

        RANGE = /\A([\d.,]+ to [\d.,]+|-)\z/

        # @param results [Array<Hash>] from Result.read
        def initialize(results) = @results = results

        def to_s = TEMPLATE.result(binding)

        private

        def title = "Trunkline lab: #{@results.size == 1 ? @results.first[:command] : "#{@results.size} experiments"}"

        def id(result) = "#{result[:command]}-#{@results.index { |one| one.equal?(result) } + 1}"

        def state(result) = Result::STATES.fetch(result[:state])

        # Charts for wide and for narrow screens; the style sheet shows one of them.
        def charts(chart) = [SVG::WIDE, SVG::NARROW].map { |width| SVG.new(chart, width: width).to_s }.join("\n")

        # @return [Array] the legend of a chart with lines
        def legend(chart) = SVG.new(chart).legend

        def cell(table, row, index)
          return "<th scope=\"row\">#{h(row[index])}</th>" if index.zero?

          "<td#{place(table, index)}>#{h(row[index])}</td>"
        end

        def heading(table, index) = "<th scope=\"col\"#{place(table, index)}>#{h(table[:columns][index])}</th>"

        # Columns that contain only numbers, and their titles, are aligned to the right.
        def place(table, index)
          cells = table[:rows].map { |row| row[index].to_s }
          " class=\"number\"" if cells.any?(/\d/) && cells.all? { |cell| number?(cell) }
        end

        def number?(cell) = TextTable::NUMBER.match?(cell) || RANGE.match?(cell)

        def preformatted?(sentence) = sentence.include?("\n")

        def h(text) = CGI.escapeHTML(text.to_s)
      end
    end
  end
end
