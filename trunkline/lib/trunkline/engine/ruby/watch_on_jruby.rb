# frozen_string_literal: true

require_relative "../../redacted"
require_relative "io_waker_on_jruby"

module Trunkline
  module Engine
    module Ruby
      # A Watch that uses a java.nio selector: sockets stay registered with it, while IO.select registers all of them
      # for each wait. A socket that no entry waits for keeps its events until one occurs, since most sockets are soon
      # waited for again.
      class WatchOnJRuby
        include Redacted

        READ = Java::JavaNioChannels::SelectionKey::OP_READ
        # Includes OP_CONNECT for sockets that are being connected; a connected channel is never ready to connect.
        WRITE = Java::JavaNioChannels::SelectionKey::OP_WRITE | Java::JavaNioChannels::SelectionKey::OP_CONNECT
        EVENTS = { read: READ, write: WRITE, both: READ | WRITE }.freeze
        # Number of unused sockets above which closed ones are removed.
        UNUSED = 64
        # A socket, its registration, whose attachment this is, its requested events, and the entry that waits for it.
        Registered = Struct.new(:socket, :events, :key, :entry) { include Redacted }
        private_constant :EVENTS, :READ, :WRITE, :UNUSED, :Registered

        # @return [IOWakerOnJRuby]
        attr_reader :waker

        def initialize
          @waker = IOWakerOnJRuby.new
          @registered = {}.compare_by_identity # by socket
          @waiting = 0
        end

        # (see Watch#add)
        def add(entry, socket, events)
          registered = register(socket, events == :read ? READ : EVENTS.fetch(events))
          @waiting += 1 unless registered.entry
          registered.entry = entry
        end

        # (see Watch#remove)
        def remove(entry, socket)
          registered = @registered[socket]
          return unless registered&.entry.equal?(entry)

          registered.entry = nil
          @waiting -= 1
        end

        # (see Watch#wait)
        def wait(others, timeout)
          forget_closed if @registered.size > (@waiting * 2) + UNUSED
          others.each { |socket| register(socket, WRITE) }
          ready = @waker.select(timeout)
          at = -1
          while (key = ready[at += 1])
            registered = key.attachment
            entry = registered.entry
            entry ? yield(entry) : silence(registered)
          end
          others.empty? ? others : others & ready.map { |one| one.attachment.socket }
        end

        private

        # A key is kept as long as its channel is open: a cancelled key prevents registration until the next select.
        def register(socket, events)
          registered = @registered[socket]
          return @registered[socket] = first_time(socket, events) if registered.nil? || !registered.key.valid?
          return registered if registered.events == events

          registered.key.interest_ops(events)
          registered.events = events
          registered
        end

        def first_time(socket, events)
          channel = socket.to_channel
          channel.configure_blocking(false)
          registered = Registered.new(socket, events)
          registered.key = channel.register(@waker.selector, events, registered)
          registered
        end

        def silence(registered)
          registered.events = 0
          registered.key.interest_ops(0)
        rescue Java::JavaNioChannels::CancelledKeyException # the channel was closed meanwhile
          nil
        end

        def forget_closed
          @registered.delete_if { |socket, registered| registered.entry.nil? && socket.closed? }
        end
      end
    end
  end
end
