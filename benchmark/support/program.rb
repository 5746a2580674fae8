# frozen_string_literal: true

%w[suite environment report].each { |part| require_relative part }

module Bench
  # Runs the groups of figures of one `rake bench:...`, one after the other, on one origin; then writes the report.
  class Program
    # @param name [String] of the report
    # @param groups [Hash{String => #call, Array<#call>}] groups by their names in BENCH_ONLY
    def initialize(name, groups)
      @name = name
      @groups = groups
    end

    # Exits with status 1 when a figure misses its bar or a group could not be measured.
    def run
      options = BenchmarkOptions.from_environment
      groups = chosen(options)
      environment = Environment.before
      noise = Lab::Noise.new
      Origin.open do |origin|
        suite = Suite.new(origin, options)
        groups.each { |group| suite.run(group) }
        report(suite, Environment.after(environment, noise: noise, options: options, gems: suite.versions))
      end
    rescue Origin::Missing => error
      abort error.message
    rescue Interrupt
      abort "\nInterrupted; nothing was written."
    end

    private

    def chosen(options)
      unknown = options.only.to_a - @groups.keys
      abort "BENCH_ONLY: no figures named #{unknown.join(", ")}; there are #{@groups.keys.join(", ")}" if unknown.any?

      @groups.values_at(*(options.only || @groups.keys)).flatten
    end

    def report(suite, environment)
      report = Report.new(environment: environment, figures: suite.figures, missing: suite.missing,
                          title: "#{@name.capitalize} benchmark")
      files = report.write(suite.options.results_folder, @name)
      warn "\nNot measured:", *suite.missing.map { |name, reason| "  #{name}: #{reason}" } if suite.missing.any?
      warn "\nWritten: #{files.join(", ")}"
      return if (suite.failures + suite.below_bar).empty?

      abort "#{suite.below_bar.size} figures do not hold; #{suite.failures.size} groups could not be measured."
    end
  end
end
