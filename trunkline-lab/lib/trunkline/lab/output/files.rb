# frozen_string_literal: true

require "csv"
require "json"
require_relative "page"

module Trunkline
  module Lab
    module Output
      # Writes results where the user wants them.
      module Files
        CSV_COLUMNS = %w[command group label figure unit better value low high samples].freeze

        module_function

        # @param result [Hash] Result#to_h
        # @param files [Hash] kind => path
        # @raise [Stop]
        def write(result, files)
          result = JSON.parse(JSON.generate(result), symbolize_names: true)
          files.each { |kind, path| save(path, public_send(kind, result)) }
        end

        def json(result) = "#{JSON.pretty_generate(result)}\n"

        def csv(result)
          CSV.generate do |csv|
            csv << CSV_COLUMNS
            result[:figures].each do |figure|
              csv << [result[:command], *figure.values_at(:group, :label, :name, :unit, :better, :value),
                      *figure[:interval], figure[:samples].size]
            end
          end
        end

        def html(result) = Page.new([result]).to_s

        def save(path, text)
          File.write(path, text)
        rescue SystemCallError => error
          raise Stop, "#{path} cannot be written: #{error.message.sub(/ @ .*/, "")}"
        end
      end
    end
  end
end
