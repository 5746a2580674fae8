# frozen_string_literal: true

require "appsignal"

# AppSignal's extension is a binary from its own servers and is not installed, so its transactions do not record; this
# file stores what its instrumentation of Net::HTTP reports to them.
module Watched
  @events = []
  singleton_class.attr_reader :events

  Recorder = Module.new do
    def start_event(**options)
      Watched.events << [:start, options[:opentelemetry_kind]]
      super
    end

    def finish_event(*said)
      Watched.events << [:finish, *said]
      super
    end

    def add_opentelemetry_attributes(attributes = {})
      Watched.events << [:attributes, attributes]
      super
    end
  end
  Appsignal::Transaction.prepend(Recorder)
  Appsignal.configure(:test) { |config| config.active = true }
  (ENV["LEVEL"] == "faraday" ? Appsignal::Hooks::FaradayHook : Appsignal::Hooks::NetHttpHook).new.install

  def self.watch
    events.clear
    Appsignal::Transaction.create("http_request")
    yield
    Appsignal::Transaction.complete_current!
    events.dup
  end
end
