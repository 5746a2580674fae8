# frozen_string_literal: true

require_relative "../../redacted"
require_relative "bell"

module Trunkline
  module Engine
    module Ruby
      # What the calls of a Multi wait for: sockets, and the Multi's Bell. WatchOnJRuby has the same methods.
      class Watch
        include Redacted

        # @return [Bell]
        attr_reader :bell

        def initialize
          @bell = Bell.new
          @reading = {}.compare_by_identity
          @writing = {}.compare_by_identity
        end

        # @param entry [Object] who waits for it; nobody else does
        # @param events [:read, :write, :both]
        # @return [void]
        def add(entry, socket, events)
          @reading[socket] = entry unless events == :write
          @writing[socket] = entry unless events == :read
        end

        # @return [void]
        def remove(entry, socket)
          @reading.delete(socket) if @reading[socket].equal?(entry)
          @writing.delete(socket) if @writing[socket].equal?(entry)
        end

        # @param others [Array<IO>] to wait for once, until they can be written to
        # @param timeout [Numeric, nil] seconds; nil: without end
        # @yield [entry] each of those whose socket is ready; nobody twice, but for who waits for both events
        # @return [Array<IO>] which of the others are ready
        def wait(others, timeout)
          reading, writing = @bell.select(@reading.keys << @bell.io, @writing.keys.concat(others), timeout)
          return [] if reading.nil?

          @bell.clear if reading.delete(@bell.io)
          reading.each { |socket| yield @reading[socket] }
          writing.each { |socket| @writing.key?(socket) && yield(@writing[socket]) }
          others & writing
        end
      end
    end
  end
end
