# frozen_string_literal: true

# Measures each facade, compared with the library that it replaces; `rake bench:facades` runs it.
# support/benchmark_options.rb lists its options.

require_relative "support/program"
%w[facade parallel].each { |group| require_relative "figures/#{group}" }

Bench::Peer.load_all
Bench::Peer.load_all("facades")
peers = Bench::Peers
net_http = peers::NetHTTP
typhoeus = { peers::Typhoeus => nil, peers::Typhoeus14 => nil }
facade = ->(*arguments, **rest) { Bench::Figures::Facade.new(*arguments, **rest) }
groups = {
  "faraday" => facade.call("Faraday, kept-alive TLS calls", :tls, peers::FaradayFacade,
                           { peers::FaradayPersistent => [1.6], peers::FaradayNetHTTP => [8] }),
  "in_parallel" => Bench::Figures::Parallel.new,
  "net_http" => facade.call("Net::HTTP, started", :plain, peers::NetHTTPFacade, { net_http => [1.5] }),
  "net_http_tls" => facade.call("Net::HTTP, started, over TLS", :tls, peers::NetHTTPFacade,
                                { net_http => nil }),
  "httparty" => facade.call("HTTParty over TLS", :tls, peers::HTTPartyFacade, { peers::HTTParty => [5] }),
  "typhoeus" => facade.call("Typhoeus, Hydra runs of 50 in flight", :plain, peers::TyphoeusFacade, typhoeus,
                            concurrency: 50, faster_typhoeus: [6])
}
Bench::Program.new("facades", groups).run
