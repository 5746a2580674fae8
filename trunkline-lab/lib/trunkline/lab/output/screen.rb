# frozen_string_literal: true

require "tty-progressbar"
require_relative "../environment"
require_relative "text_chart"
require_relative "text_table"

module Trunkline
  module Lab
    # The output formats of a result: text, files, a page.
    module Output
      # Terminal output: results on standard output; progress on standard error, if that is a terminal.
      class Screen
        def initialize(out, err, quiet: false)
          @out = out
          @err = err
          @quiet = quiet
        end

        def busy(text)
          @err.print("\r\e[K#{text[0, TextChart.columns - 1]}") if @err.tty? && !@quiet
        end

        # @yield [bar] whose #advance is called after each step
        def progress(title, steps)
          busy("")
          if @err.tty? && !@quiet
            bar = TTY::ProgressBar.new("#{title} [:bar] :percent :eta", total: steps, output: @err, width: 30,
                                                                        clear: true)
          end
          yield -> { bar&.advance }
        ensure
          bar&.stop
        end

        def show(result)
          busy("")
          unless @quiet
            heading(result.title)
            result.charts.each { |chart| print_chart(chart) }
            result.tables.each { |table| print_table(table) }
          end
          @out.puts(*result.sentences)
          footer(result)
        end

        private

        def heading(title) = @out.puts("", strong(title), "")

        def print_chart(chart)
          text = TextChart.of(chart, color: color?)
          @out.puts(text, "") if text
        end

        def print_table(table)
          @out.puts(strong(table[:title])) if table[:title]
          width = TextChart.columns if @out.tty?
          @out.puts(TextTable.new(table, width: width) { |text| strong(text) }.to_s, *table[:note], "")
        end

        def footer(result)
          if result.missing.any? && !@quiet
            @out.puts("", "Not measured:", *result.missing.map { |label, reason| "  #{label}: #{reason}" })
          end
          @out.puts("", Environment.sentence(result.to_h[:environment])) unless @quiet
          result.noise.each { |reason| @out.puts("", strong("This is not a result: #{reason}.")) }
          @out.puts("", "Interrupted: these are the results until then.") if result.interrupted
        end

        def strong(text) = color? ? "\e[1m#{text}\e[0m" : text

        def color? = @out.tty? && !ENV.key?("NO_COLOR")
      end
    end
  end
end
