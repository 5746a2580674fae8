# frozen_string_literal: true

module Bench
  # Formats figures as Markdown tables.
  module Markdown
    COLUMNS = { "requests/s" => "requests/s", "us/request" => "CPU us/request",
                "x" => "Trunkline is faster, times" }.freeze

    module_function

    def barred(figures)
      rows = figures.map do |figure|
        sign = figure.better == "higher" ? ">=" : "<="
        targets = [figure.bar, figure.reach].map { |target| target && "#{sign} #{target}" }
        [figure.name, with_unit(figure), *targets, figure.holds ? "yes" : "**no**"]
      end
      table(["figure", "value", "must", "reach for", "holds"], rows)
    end

    # One row for each client, the fastest first.
    def clients(figures)
      rows = figures.group_by(&:client).transform_values { |own| own.to_h { |figure| [figure.unit, figure] } }
      rows.select! { |_, own| own.key?("requests/s") }
      sorted = rows.sort_by { |_, own| -own["requests/s"].value }
      cells = sorted.map { |client, own| [client, *COLUMNS.keys.map { |unit| cell(own[unit]) }] }
      table(["client", *COLUMNS.values], cells)
    end

    def plain(figures) = table(%w[figure value], figures.map { |figure| [figure.name, with_unit(figure)] })

    def table(head, rows)
      [head, head.map { "---" }, *rows].map { |cells| "| #{cells.join(" | ")} |" }.join("\n")
    end

    def with_unit(figure)
      note = figure.note && "(#{figure.note})"
      [short(figure.value), figure.unit, spread(figure), note].compact.join(" ")
    end

    def cell(figure) = figure && [short(figure.value), spread(figure)].compact.join(" ")

    def spread(figure) = figure.spread && "(#{figure.spread.map { |edge| short(edge) }.join(" to ")})"

    def short(number)
      return number.to_s if number.is_a?(Integer)

      number.abs < 100 ? number.round(2).to_s : number.round.to_s
    end
  end
end
