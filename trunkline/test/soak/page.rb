# frozen_string_literal: true

require "json"
require_relative "../../../trunkline-lab/lib/trunkline/lab/output/svg"

# The section of docs/safety.md about the kept soak, and its charts, made from benchmark/results/soak.json.
module SoakPage
  ROOT = File.expand_path("../../..", __dir__)
  RESULTS = File.join(ROOT, "benchmark/results/soak.json")
  CHART = File.join(ROOT, "docs/images/soak.svg")
  COLORS = %w[#0969da #bc4c00 #8250df #1a7f37].freeze
  PANELS = { rss: "MB of memory", descriptors: "descriptors", connections: "connections", threads: "threads",
             per_second: "requests per second", errors: "errors so far" }.freeze
  WIDTH = Trunkline::Lab::Output::SVG::WIDE
  HEIGHT = Trunkline::Lab::Output::SVG::HEIGHTS.fetch(WIDTH)
  TOP = 60
  STYLE = <<~CSS.freeze
    text { font: 13px sans-serif; fill: #57606a } .line { fill: none; stroke-width: 2 } .grid { stroke: #d0d7de }
    #{COLORS.each_with_index.map { |color, index| ".line.c#{index} { stroke: #{color} }" }.join(" ")}
  CSS

  module_function

  def results = JSON.parse(File.read(RESULTS), symbolize_names: true)

  # @return [String]
  def text
    kept = results
    rows = kept[:clients].map { |client| "| #{cells(client).join(" | ")} |" }
    <<~TEXT

      ## A long run

      `rake soak` calls nginx over plain HTTP/1.1, TLS and HTTP/2 for an hour (`SECONDS=600` for ten minutes), from threads,
      fibers of Async, batches and futures, and from requests that Falcon serves. Each client runs in a separate process, all
      at the same time. nginx is alternately killed and restarted, and given new certificates. The soak fails if file
      descriptors, threads or memory of Trunkline grow, if an error occurs more than 3 s away from a restart or a new
      certificate, or if an error has `sent: :none` although the request arrived.

      #{conditions(kept)}
      "rise" is the increase of a fitted line through the samples from the first third to the end.

      | client | requests | errors at restarts | other errors | descriptors rise | threads rise | MB rise |
      |---|---|---|---|---|---|---|
      #{rows.join("\n")}

      net-http-persistent and httpx are called from six threads each, net-http-persistent without HTTP/2, which it does not
      support. Trunkline has about 40 requests in flight at a time, all of which a restart may break.

      ![Memory, descriptors, connections, threads, requests per second and errors over the run](images/soak.svg)
    TEXT
  end

  # @return [String]
  def chart
    clients = results[:clients]
    panels = PANELS.each_with_index.map { |(what, label), at| panel(clients, what, label, TOP + (at * HEIGHT)) }
    height = TOP + (PANELS.size * HEIGHT)
    %(<svg xmlns="http://www.w3.org/2000/svg" width="#{WIDTH}" height="#{height}" viewBox="0 0 #{WIDTH} #{height}">) +
      %(<style>#{STYLE}</style><rect width="100%" height="100%" fill="#fff"/>#{legend(clients)}#{panels.join}</svg>\n)
  end

  def conditions(kept)
    "The kept run took #{minutes(kept[:seconds])}, on #{kept[:date][0, 10]}, with #{kept[:restarts]} restarts and " \
      "#{kept[:certificates]} certificates, on a machine of\n#{kept[:cores]} cores that other programs used, too: " \
      "#{kept[:ruby][/ruby \S+/]}, #{kept[:openssl][/OpenSSL \S+/]}, nginx #{kept[:nginx]}."
  end

  def cells(client)
    at_restarts = client[:errors].values.sum - client[:unexplained]
    rises = client[:rises].values_at(:descriptors, :threads, :rss)
    [client[:versions].map { |name, version| "#{name} #{version}" }.join(", "), grouped(client[:requests]), at_restarts,
     client[:unexplained], *rises.map { |rise| rise.positive? ? rise : 0 }]
  end

  def grouped(number) = number.to_s.gsub(/(\d)(?=(\d{3})+$)/, "\\1,")
  def minutes(seconds) = seconds < 120 ? "#{seconds} s" : "#{seconds / 60} minutes"

  def panel(clients, what, label, top)
    series = clients.map { |client| { label: client[:name].to_s, points: points(client[:samples], what) } }
    svg = Trunkline::Lab::Output::SVG.new({ kind: "lines", title: label, x: "seconds", y: label, series: series }).to_s
    svg.gsub(%r{<circle[^>]*/>}, "").sub("<svg ", %(<svg y="#{top}" width="#{WIDTH}" height="#{HEIGHT}" ))
  end

  def points(samples, what)
    values = what == :per_second ? rates(samples) : samples[what]
    samples[:at].zip(values).map { |at, value| { x: at.round, y: value } }
  end

  def rates(samples)
    counts = [0, *samples[:requests]]
    times = [0, *samples[:at]]
    counts.each_cons(2).zip(times.each_cons(2)).map { |(was, is), (from, to)| ((is - was) / (to - from)).round }
  end

  def legend(clients)
    clients.each_with_index.map do |client, index|
      x, line = index.divmod(2).then { |column, row| [60 + (column * 340), row] }
      versions = client[:versions].map { |name, version| "#{name} #{version}" }
      %(<text x="#{x}" y="#{20 + (line * 20)}" style="fill: #{COLORS[index]}">#{versions.join(", ")}</text>)
    end.join
  end
end
