# frozen_string_literal: true

require "tmpdir"
require "vcr"
require "webmock"

# Records the cassette, and the results of playing it back.
module Watched
  VCR.configure do |config|
    config.cassette_library_dir = Dir.mktmpdir("cassettes")
    config.hook_into :webmock
    config.default_cassette_options = { match_requests_on: %i[method uri body], allow_playback_repeats: true }
    config.debug_logger = LOG = StringIO.new
  end
  at_exit { FileUtils.remove_entry(VCR.configuration.cassette_library_dir) }

  # Makes the calls twice: to record them and to play them back.
  def self.watch(&block)
    @cases = (@cases || 0) + 1
    LOG.string = +""
    %i[once none].each { |mode| VCR.use_cassette("case#{@cases}", record: mode, &block) }
    path = File.join(VCR.configuration.cassette_library_dir, "case#{@cases}.yml")
    { recorded: File.exist?(path) ? said(YAML.unsafe_load_file(path)) : nil, log: log }
  end

  def self.said(cassette) = cassette["http_interactions"].map { |one| one.except("recorded_at") }
  def self.log = LOG.string.lines.map { |line| line.gsub(/ at \S+:\d+.*/, "").chomp }
end
