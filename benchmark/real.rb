# frozen_string_literal: true

# Measures the calls that services make: distinct URLs, and POSTs of JSON; `rake bench:real` runs it.
# support/benchmark_options.rb lists its options.

require_relative "support/program"
require_relative "support/service"
%w[in_flight one_at_a_time objects order orders_in_batch earlier busy_poll].each do |group|
  require_relative "figures/#{group}"
end

Bench::Peer.load_all
Bench::Peer.load_all("real")
figures = Bench::Figures
origin = Bench::Origin
peers = Bench::Peers

# Measures both Client#each and Client#batch.
in_flight = lambda do |at, path, curl|
  [{}, { by: "batch" }].map { |ours| figures::InFlight.new(at, path, urls: "distinct", curl: curl, ours: ours) }
end
net_http = { ours: peers::Trunkline, other: peers::NetHTTP, label: "Net::HTTP, started", cpu: [0.40, 0.27] }
faraday = { ours: peers::FaradayOrdersOnTrunkline, other: peers::FaradayOrdersPersistent,
            label: peers::FaradayOrdersPersistent.label, cpu: [0.55, 0.45] }
order = lambda do |way, ours:, other:, **rest|
  figures::Order.new("POST of an order#{way}, distinct URLs", ours, other, **rest)
end

groups = {
  "order" => [order.call("", **net_http, objects: true),
              order.call(" to Puma", **net_http, service: Bench::Service)],
  "order_faraday" => [order.call(" through Faraday", **faraday, least: peers::FaradayOrdersAlone),
                      order.call(" to Puma through Faraday", **faraday, service: Bench::Service)],
  "order_batch" => figures::OrdersInBatch.new,
  "puma" => [figures::OneAtATime.new(:plain, path: origin::ORDERS, beside_peers: false, service: Bench::Service),
             figures::InFlight.new(:plain, origin::ORDERS, urls: "distinct", curl: nil, concurrency: [50],
                                                           service: Bench::Service)],
  "objects" => figures::Objects.new,
  "in_flight" => [*in_flight.call(:plain, origin::SMALL, [1.1, 1.4]), *in_flight.call(:plain, origin::ORDERS, nil)],
  "in_flight_tls" => [*in_flight.call(:tls, origin::SMALL, [1.2, 1.5]), *in_flight.call(:tls, origin::ORDERS, nil)],
  "medium" => %i[plain without_nopush].zip([[1.2, 1.5], [1.0, 1.2]]).map do |at, curl|
    figures::InFlight.new(at, origin::MEDIUM, urls: "distinct", curl: curl)
  end,
  "one_at_a_time" => %i[plain tls].product([origin::SMALL, origin::ORDERS]).map do |at, path|
    figures::OneAtATime.new(at, path: path, beside_peers: false)
  end,
  "one_core" => %i[plain tls].map { |at| figures::OneAtATime.new(at, beside_peers: false, on: "one core") },
  "earlier" => %w[repeated distinct].flat_map do |urls|
    [figures::Earlier.new(urls), figures::Earlier.new(urls, concurrency: 50),
     figures::Earlier.new(urls, concurrency: 50, by: "batch")]
  end,
  "busy_poll" => figures::BusyPoll.new
}
Bench::Program.new("real", groups).run
