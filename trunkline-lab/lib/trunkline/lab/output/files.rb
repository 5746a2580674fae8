# frozen_string_literal: true

require "csv"
require "json"
require_relative "page"

module Trunkline
  module Lab
    module Output
      # Writes results to the files that the user names.
      module Files
        KINDS = %w[json csv html].freeze
        CSV_COLUMNS = %w[command group label figure unit better value low high samples].freeze

        module_function

        # @param results [Array<Hash>] as Result#to_h or Result.read give them; JSON of one is that one
        # @param files [Hash] kind => path
        # @raise [Stop]
        def write(results, files)
          results = JSON.parse(JSON.generate(results), symbolize_names: true)
          files.each { |kind, path| save(path, public_send(kind, results)) }
        end

        def json(results) = "#{JSON.pretty_generate(results.size == 1 ? results.first : results)}\n"

        def csv(results)
          CSV.generate do |csv|
            csv << CSV_COLUMNS
            results.each do |result|
              result[:figures].each do |figure|
                csv << [result[:command], *figure.values_at(:group, :label, :name, :unit, :better, :value),
                        *figure[:interval], figure[:samples].size]
              end
            end
          end
        end

        def html(results) = Page.new(results).to_s

        # Before anything is measured.
        # @raise [Stop]
        def check(paths)
          paths.each do |path|
            next if writable?(path)

            reason = File.directory?(File.dirname(path)) ? "no right to, or no file" : "there is no such folder"
            raise Stop, "#{path.empty? ? '""' : path} cannot be written: #{reason}"
          end
        end

        def writable?(path)
          return false if path.empty? || File.directory?(path)

          File.writable?(File.exist?(path) ? path : File.dirname(path))
        end

        def save(path, text)
          File.write(path, text)
        rescue SystemCallError => error
          raise Stop, "#{path} cannot be written: #{error.message.sub(/ @ .*/, "")}"
        end
      end
    end
  end
end
