# frozen_string_literal: true

module Trunkline
  module Lab
    module Commands
      # Writes all results of a folder to one page.
      class Report < Command
        summary "all results (*.json) of a folder in one page, report.html beside them"
        usage "DIR"
        timed false

        private

        def arguments(rest)
          raise Stop.new("give one folder", USAGE) unless rest.size == 1

          @folder = rest.first
          raise Stop.new("#{@folder} is not a folder", USAGE) unless File.directory?(@folder)
        end

        attr_reader :results

        def title = "The results in #{@folder}"

        def measure
          files = Dir[File.join(@folder, "*.json")]
          raise Stop, "there are no results in #{@folder}: write some with --json" if files.empty?

          order = CLI::COMMANDS
          results = files.map { |file| Result.read(file) }
          @results = results.sort_by { |one| [order.index(one[:command]) || order.size, one[:title]] }
        end

        def conclude
          @files["html"] ||= File.join(@folder, "report.html")
          rows = @results.map { |one| [one[:command], one[:title], Result::STATES.fetch(one[:state])] }
          @result.table(nil, %w[command title state], rows)
        end
      end
    end
  end
end
