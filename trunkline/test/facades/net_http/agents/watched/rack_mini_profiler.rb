# frozen_string_literal: true

require "rack"
Rack.const_set(:MINI_PROFILER_PREPEND_NET_HTTP_PATCH, true) if ENV["PREPEND_NET_HTTP"]
require "rack-mini-profiler"

# Records the steps of a page.
module Watched
  def self.watch
    Rack::MiniProfiler.create_current("PATH_INFO" => "/", "SERVER_NAME" => "test", "SERVER_PORT" => "80",
                                      "REQUEST_METHOD" => "GET", "rack.url_scheme" => "http")
    yield
    steps(Rack::MiniProfiler.current.page_struct[:root])
  end

  def self.steps(timer) = timer[:children].map { |step| [step[:name], steps(step)] }
end
