# frozen_string_literal: true

require "socket"
require_relative "peer_process"

module Trunkline
  module Lab
    # One peer's code, loaded once in a process that makes no calls itself: each worker that is wanted is a fork of it,
    # and so is there at once. For experiments with many short workers.
    class Preloaded
      # A worker that is a fork of the preloaded process: not our child, so we cannot wait for its end.
      class Fork < PeerProcess
        # @param socket [UNIXSocket] to the process that forks
        # @param options [Hash] those of Peer.new
        def initialize(socket, lock, options) # rubocop:disable Lint/MissingSuper -- that spawns
          with_pipes do |commands, replies|
            lock.synchronize do
              streams = Socket::AncillaryData.unix_rights(commands, replies, @errors.to_io)
              socket.sendmsg(JSON.generate(options), 0, nil, streams)
              Integer(socket.recv(20).to_s)
            end
          end
        end
      end

      NOWHERE = "http://127.0.0.1:9" # nothing is sent there

      attr_reader :peer

      # It is not waited for, so that several can load side by side.
      # @param peer [Class] a Peer
      # @raise [Bundle::Failed]
      def initialize(peer)
        @peer = peer
        @lock = Mutex.new
        @socket, theirs = UNIXSocket.pair
        @pid = PeerProcess.spawn(Tasks, peer.file, gems: peer.gems, folder: peer.bundle, ours: peer.ours, preload: true,
                                                   options: { base: NOWHERE }, in: theirs, err: File::NULL)
        theirs.close
      end

      # @raise [PeerProcess::Failed]
      def wait_until_it_is_loaded
        told = @socket.recv(20) if @socket.wait_readable(PeerProcess::SECONDS_TO_ANSWER)
        return unless told.to_s.empty? # at the end nil since Ruby 3.3, and "" before

        raise PeerProcess::Failed, "its code could not be loaded"
      end

      # @param options [Hash] those of Peer.new
      # @yield [process] stopped whatever happens
      def process(**options)
        process = Fork.new(@socket, @lock, options)
        yield process
      ensure
        process&.stop
      end

      def stop
        @socket.close
        Processes.stop(@pid)
      end
    end
  end
end
