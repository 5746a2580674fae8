# frozen_string_literal: true

require_relative "dial"

module Trunkline
  module Engine
    module Ruby
      # The part of Exchange that opens a connection.
      module Dialling
        SCARCE = [Errno::EMFILE::Errno, Errno::ENFILE::Errno].freeze
        private_constant :SCARCE

        private

        def start_dialling(now)
          @dial = Dial.new(@origin, waker, now)
          @state = :dialling
          :wait
        end

        def step_dialling(now)
          unless @dial.step(now)
            @phase = @dial.phase
            return :wait
          end
          take_dialled
        rescue Failure => error
          error = without_descriptor(error)
          return :wait if tries_again?(error, now)

          @ticket.dial_failed = true
          @allowed = @config.timeouts[error.phase] if error.timeout?
          raise error
        end

        def take_dialled
          dial = @dial
          @dial = nil
          @timings.resolve = dial.resolved_in
          @timings.connect = dial.connected_in
          @timings.tls = dial.secured_in
          now = Ruby.now # so that time for the handshake does not count as write time
          address = dial.peer.unix? ? @origin.unix_path : Connecting.endpoint(dial.peer)
          connection = Connection.new(dial.io, address, @config.owner, now)
          share(connection)
          @pool.add(@ticket, connection)
          use_connection(connection, now)
        end

        # Begins HTTP/2 if TLS has negotiated it, or if it is configured for plain connections.
        def share(connection)
          chosen = connection.io.protocol
          return connection.share if chosen ? chosen == "h2" : @origin.prior_knowledge?
          return if @config.http != :h2 || !@origin.may_share?

          connection.close(true)
          @ticket.dial_failed = true
          raise Failure.new(:HTTP2_NOT_SPOKEN, phase: :tls)
        end

        # The resolver does not report that no file descriptor is left, so this opens a file to find out.
        def without_descriptor(failure)
          return failure unless failure.code == :RESOLVE

          File.open(File::NULL) { failure }
        rescue SystemCallError => error
          SCARCE.include?(error.errno) ? Failure.of_system(:CONNECT, error, phase: :resolve) : failure
        end

        # When no file descriptor is left, closes idle connections and begins the dial again.
        def tries_again?(failure, now)
          return false unless SCARCE.include?(failure.errno) && Pool.make_room

          @dial.close
          @dial = Dial.new(@origin, waker, now)
          @again = true
        end
      end
    end
  end
end
