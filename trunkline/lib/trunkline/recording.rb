# frozen_string_literal: true

require "json"
require_relative "atomic_file"
require_relative "errors"
require_relative "instrument"
require_relative "lock"
require_relative "recording/entry"
require_relative "redacted"
require_relative "version"

module Trunkline
  # The probe of Trunkline.record: keeps each attempt of each call, and writes all of them to a file as HAR 1.2.
  #
  # @api private
  class Recording
    include Redacted

    # Maximum number of attempts that are kept. For later attempts, the file only contains their number.
    MAX_ENTRIES = 10_000

    # @param path [String, Pathname] the file, which is replaced when the block is left, even by an exception
    # @return what the block returns
    # @raise [InvalidRequest] when no file can be written at path; the block is not called then
    # @raise [SystemCallError] when writing the file fails
    def self.of(path)
      named = path.is_a?(String) || path.respond_to?(:to_path)
      path = File.path(path) if named
      unless named && File.writable?(File.dirname(path)) && !File.directory?(path)
        raise InvalidRequest.of("record", path, "the path of a file in a folder that can be written to")
      end

      recording = new
      begin
        recording.begin
        yield
      ensure
        recording.end(path)
      end
    end

    def initialize
      @began = Time.now
      @entries = []
      @left_out = 0
      @lock = Lock.new
    end

    # @return [void]
    def begin
      Instrument.add(self)
    end

    # @param path [String]
    # @return [void]
    def end(path)
      Instrument.remove(self)
      @lock.synchronize { AtomicFile.write(path, *parts) }
    end

    # ---- methods of a probe (see Instrument) ----

    def attempt_begins(_state, _request, _number) = [Time.now, nil]

    def attempt_ends(began, record)
      return @lock.synchronize { @left_out += 1 } if @entries.size >= MAX_ENTRIES

      entry = JSON.generate(Entry.new(began, record).to_h)
      @lock.synchronize { @entries << entry }
    end

    private

    def parts
      log = { version: "1.2", creator: { name: "Trunkline", version: VERSION },
              pages: [{ startedDateTime: Entry.time(@began), id: Entry::PAGE, title: $PROGRAM_NAME.scrub,
                        pageTimings: {} }] }
      log[:comment] = "#{@left_out} more requests were left out" if @left_out.positive?
      ["{\"log\":#{JSON.generate(log).chomp("}")},\"entries\":[\n", @entries.join(",\n"), "\n]}}\n"]
    end
  end
end
