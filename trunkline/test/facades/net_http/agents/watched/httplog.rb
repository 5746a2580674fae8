# frozen_string_literal: true

require "httplog"
require "logger"
require "stringio"

# Records the lines of httplog's log, without the header field that asks to close the connection: whether a connection
# is shared is a documented difference.
module Watched
  LOG = StringIO.new
  HttpLog.configure do |config|
    config.logger = Logger.new(LOG, formatter: ->(_, _, _, message) { "#{message}\n" })
    config.log_headers = true
  end

  def self.watch
    LOG.string = +""
    yield
    LOG.string.lines(chomp: true).grep_v(/Header: connection:/)
  end
end
