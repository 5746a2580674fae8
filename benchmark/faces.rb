# frozen_string_literal: true

# Measures each face beside what it stands in for; `rake bench:faces` runs it. support/settings.rb has its switches.

require_relative "support/program"
%w[face parallel].each { |group| require_relative "figures/#{group}" }

Bench::Peer.load_all
Bench::Peer.load_all("faces")
peers = Bench::Peers
net_http = Bench::Lab::Peers::NetHTTP
typhoeus = { peers::Typhoeus => nil, peers::Typhoeus14 => nil }
groups = {
  "faraday" => Bench::Figures::Face.new("Faraday, kept-alive TLS calls", :tls, peers::FaradayFace,
                                        { peers::FaradayPersistent => [1.6], peers::FaradayNetHTTP => [8] }),
  "in_parallel" => Bench::Figures::Parallel.new,
  "net_http" => Bench::Figures::Face.new("Net::HTTP, started", :plain, peers::NetHTTPFace, { net_http => [1.5] }),
  "net_http_tls" => Bench::Figures::Face.new("Net::HTTP, started, over TLS", :tls, peers::NetHTTPFace,
                                             { net_http => nil }),
  "httparty" => Bench::Figures::Face.new("HTTParty over TLS", :tls, peers::HTTPartyFace, { peers::HTTParty => [5] }),
  "typhoeus" => Bench::Figures::Face.new("Typhoeus, Hydra runs of 50 in flight", :plain, peers::TyphoeusFace, typhoeus,
                                         at_once: 50, faster_typhoeus: [6])
}
Bench::Program.new("faces", groups).run
