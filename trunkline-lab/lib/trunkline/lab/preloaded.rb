# frozen_string_literal: true

require "socket"
require_relative "peer_process"

module Trunkline
  module Lab
    # A process that has loaded one peer's code and makes no calls. Each worker is a fork of it, and so starts at once.
    # For experiments with many short-lived workers.
    class Preloaded
      # A worker forked by the preloaded process. It is not a child of this process, which therefore cannot wait for its
      # end.
      class Fork < PeerProcess
        # @param socket [UNIXSocket] connected to the process that forks
        # @param options [Hash] options of Peer.new
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

      NOWHERE = "http://127.0.0.1:9" # no request is sent there

      attr_reader :peer

      # Does not wait for the process, so that several peers can load in parallel.
      # @param peer [Class] a Peer
      # @raise [Bundle::Failed]
      def initialize(peer)
        @peer = peer
        @lock = Mutex.new
        @socket, theirs = UNIXSocket.pair
        @pid = PeerProcess.spawn(Tasks, peer.file, gems: peer.gems, folder: peer.bundle, local_gems: peer.local_gems,
                                                   preload: true, options: { base: NOWHERE }, in: theirs, err: File::NULL)
        theirs.close
      end

      # @raise [PeerProcess::Failed]
      def wait_until_loaded
        message = @socket.recv(20) if @socket.wait_readable(PeerProcess::SECONDS_TO_ANSWER)
        return unless message.to_s.empty? # recv returns nil at the end since Ruby 3.3, and "" before

        raise PeerProcess::Failed, "its code could not be loaded"
      end

      # @param options [Hash] options of Peer.new
      # @yield [process] which is stopped in any case
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
