# frozen_string_literal: true

require "json"
require_relative "environment"
require_relative "markdown"

module Bench
  # Writes the figures as NAME.json, for programs, and NAME.md, for people.
  class Report
    def initialize(environment:, figures:, missing:, title:)
      @environment = environment
      @figures = figures
      @missing = missing
      @title = title
    end

    # @return [Array<String>] the files written
    def write(folder, name)
      { "#{name}.json" => json, "#{name}.md" => markdown }.map do |file, content|
        File.join(folder, file).tap { |path| File.write(path, content) }
      end
    end

    private

    def json
      "#{JSON.pretty_generate(environment: @environment, figures: @figures.map(&:to_h), missing: @missing)}\n"
    end

    def markdown
      grouped, single = @figures.partition(&:group)
      barred = @figures.select(&:bar)
      sections = ["# #{@title}", *environment, "## What must hold", Markdown.barred(barred)]
      grouped.group_by(&:group).each { |group, figures| sections.push("## #{group}", Markdown.clients(figures)) }
      sections.push("## Also measured", Markdown.plain(single - barred)) if (single - barred).any?
      reasons = @missing.map { |name, reason| "- #{name}: #{reason}" }
      sections.push("## Not measured", reasons.join("\n")) if reasons.any?
      "#{sections.join("\n\n")}\n"
    end

    def environment
      machine = @environment[:machine]
      lines = ["#{@environment[:date]}; #{machine[:cores]} cores, #{machine[:cpu]}; #{machine[:kernel]}; " \
               "#{Environment.busy(@environment)}.",
               *commit, @environment[:versions].map { |name, version| "#{name}: #{version}" }.join("; "),
               *client_versions, "Medians; in brackets the quartiles. Ratios are of pairs run right after each other."]
      lines << "**The machine was busy: read the figures with care.**" if @environment[:busy_before]
      lines
    end

    def commit = @environment[:commit] ? ["Trunkline at commit #{@environment[:commit]}."] : []

    def client_versions
      versions = @environment[:clients].values
      versions.empty? ? [] : ["Clients: #{versions.join(", ")}."]
    end
  end
end
