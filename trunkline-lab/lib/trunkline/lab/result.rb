# frozen_string_literal: true

require "json"
require_relative "environment"
require_relative "noise"
require_relative "secrets"
require_relative "statistics"

module Trunkline
  module Lab
    # A measured quantity: its samples, their median, and the 95 % interval of the median.
    Figure = Struct.new(:name, :group, :label, :unit, :better, :samples, :key, keyword_init: true) do
      def value = @value ||= Statistics.median(samples)
      def interval = @interval ||= samples.size < 2 ? [value, value] : Statistics.interval(samples)

      # Half of the interval as a share of the value.
      def looseness = value.zero? ? 0.0 : (interval.last - interval.first) / 2.0 / value.abs

      def to_h
        { name: name, group: group, label: label, unit: unit, better: better, value: Result.short(value),
          interval: interval.map { |edge| Result.short(edge) }, samples: samples.map { |sample| Result.short(sample) } }
      end
    end

    # The result of one experiment: figures with their samples, tables and charts, and the conditions of the
    # measurement. Its JSON follows schema/result.json.
    class Result
      FORMAT = "trunkline-lab"
      VERSION = 1
      SCHEMA = File.join(__dir__, "schema/result.json")
      STATES = { "result" => "a result", "facts" => "observed facts", "noisy" => "not a result: the machine was noisy",
                 "interrupted" => "interrupted: the results until then" }.freeze

      def self.short(number)
        return number unless number.is_a?(Float)
        return nil unless number.finite?

        digits = number.zero? ? 0 : 5 - Math.log10(number.abs).floor
        number.round(digits.clamp(0, 9))
      end

      # @return [Hash] content of a file that this class wrote, with Symbol keys
      # @raise [Stop]
      def self.read(file)
        data = JSON.parse(File.read(file, encoding: Encoding::UTF_8), symbolize_names: true)
        return data if data.is_a?(Hash) && data[:format] == FORMAT && data[:version] == VERSION

        raise Stop, "#{file} is not a result of trunkline-lab (format #{FORMAT}, version #{VERSION})"
      rescue SystemCallError => error
        raise Stop, "#{file} cannot be read: #{error.message.sub(/ @ .*/, "")}"
      rescue JSON::ParserError
        raise Stop, "#{file} is not JSON"
      end

      attr_reader :command, :title, :figures, :tables, :charts, :sentences, :missing, :clients, :data
      attr_accessor :interrupted

      # @param timed [Boolean] whether the result is a measurement of time, which noise invalidates
      def initialize(command:, title:, arguments:, timed: true)
        @command = command
        @title = title
        @arguments = arguments.map { |argument| Secrets.hide(argument) }
        @timed = timed
        @environment = Environment.before
        @noise = Noise.new
        @figures = []
        @tables = []
        @charts = []
        @sentences = []
        @missing = {}
        @clients = {}
        @data = {}
      end

      def figure(samples, **rest)
        Figure.new(samples: samples, better: "higher", **rest).tap { |made| @figures << made }
      end

      # @param columns [Array<String>]
      # @param optional [Array<String>] columns that may be left out on a narrow terminal, the last one first
      # @param rows [Array<Array>]
      def table(title, columns, rows, note: nil, optional: nil)
        @tables << { title: title, columns: columns, rows: rows.map { |row| row.map { |cell| cell.nil? ? "-" : cell } },
                     note: note, optional: optional }.compact
      end

      def chart(kind, title, **rest) = @charts << { kind: kind.to_s, title: title, **rest }
      def say(sentence) = @sentences << sentence

      # Called at the end of the measurement.
      def close
        @foreign = @noise.foreign
        @environment = Environment.after(@environment, @clients)
      end

      def noise
        return [] unless @timed

        reasons = []
        if @foreign.to_f > Noise::FOREIGN_BAR
          reasons << "other programs took #{(@foreign * 100).round} % of the CPU during the run"
        end
        loose = @figures.select { |figure| figure.key && figure.looseness > Noise::SPREAD_BAR }
        if loose.any?
          worst = loose.max_by(&:looseness)
          reasons << "#{worst.name} is only known to within #{(worst.looseness * 100).round} %"
        end
        reasons
      end

      # @return [String] one of STATES
      def state
        return "interrupted" if interrupted
        return "facts" unless @timed

        noise.any? ? "noisy" : "result"
      end

      def empty? = @tables.empty? && @sentences.empty?

      def to_h
        { format: FORMAT, version: VERSION, command: @command, title: @title, arguments: @arguments, state: state,
          noise: { foreign_cpu: Result.short(@foreign), reasons: noise }, environment: @environment,
          missing: @missing, sentences: @sentences, figures: @figures.map(&:to_h), tables: @tables, charts: @charts,
          data: @data }
      end
    end
  end
end
