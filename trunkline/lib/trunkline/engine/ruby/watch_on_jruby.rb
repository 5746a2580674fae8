# frozen_string_literal: true

require_relative "../../redacted"
require_relative "bell_on_jruby"

module Trunkline
  module Engine
    module Ruby
      # As Watch, by a selector of java.nio: sockets stay registered with it, while IO.select registers all of them for
      # each wait.
      class WatchOnJRuby
        include Redacted

        READ = Java::JavaNioChannels::SelectionKey::OP_READ
        # A channel that is connected is never ready to connect.
        WRITE = Java::JavaNioChannels::SelectionKey::OP_WRITE | Java::JavaNioChannels::SelectionKey::OP_CONNECT
        EVENTS = { read: READ, write: WRITE, both: READ | WRITE }.freeze
        private_constant :EVENTS, :READ, :WRITE

        # @return [BellOnJRuby]
        attr_reader :bell

        def initialize
          @bell = BellOnJRuby.new
          @keys = {}.compare_by_identity # by socket, those that somebody waits for
        end

        # (see Watch#add)
        def add(entry, socket, events)
          @keys[socket] = [register(socket, EVENTS.fetch(events), entry), entry]
        end

        # (see Watch#remove)
        def remove(entry, socket)
          key, owner = @keys[socket]
          return unless owner.equal?(entry)

          @keys.delete(socket)
          silence(key)
        end

        # (see Watch#wait)
        def wait(others, timeout, &block)
          keys = others.to_h { |socket| [socket, register(socket, WRITE, nil)] }
          ready = @bell.select(timeout)
          written = keys.select { |_, key| ready.include?(key) }.keys
          keys.each_value { |key| silence(key) }
          ready.filter_map { |key| key.attachment if key.valid? }.each(&block)
          written
        end

        private

        # A key is kept as long as its channel is open: one that was cancelled is in the way until the next select.
        def register(socket, events, entry)
          channel = socket.to_channel
          key = channel.key_for(@bell.selector)
          if key&.valid?
            key.attach(entry)
            key.interest_ops(events)
            return key
          end

          channel.configure_blocking(false)
          channel.register(@bell.selector, events, entry)
        end

        def silence(key)
          return unless key.valid?

          key.attach(nil)
          key.interest_ops(0)
        rescue Java::JavaNioChannels::CancelledKeyException # its channel was closed meanwhile
          nil
        end
      end
    end
  end
end
