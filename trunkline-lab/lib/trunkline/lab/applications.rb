# frozen_string_literal: true

require_relative "origins/puma"
require_relative "peer_process"

module Trunkline
  module Lab
    # Rack applications to compare. Each runs under a separate Puma and is called by a separate client process. All are
    # stopped in any case. An application that cannot be started is reported with the reason.
    class Applications
      GEMS = { "puma" => ">= 6.0", "rack" => ">= 2.2" }.freeze
      SECONDS_TO_ANSWER = 60

      # A running application, and the client process that calls it.
      Member = Struct.new(:origin, :process) do
        def ask(...) = process.ask(...)
        def stop = [process, origin].compact.each(&:stop)
      end

      # @param missing [Hash] label => reason; receives the applications that cannot be measured
      # @yield [applications]
      def self.open(missing:, screen:)
        applications = new(missing, screen)
        yield applications
      ensure
        applications&.close
      end

      # @return [Hash{String => Member}]
      attr_reader :members

      def initialize(missing, screen)
        @missing = missing
        @screen = screen
        @members = {}
      end

      # Starts an application without waiting for it, so that all applications load in parallel.
      # @param gems [Hash] gems that the application needs
      # @param folder [String] name of the folder for these gems
      # @param local_gems [Array<String>] gems of this process that the application needs, used from where they are
      #   loaded
      # @param options [Hash] options of Origins::Puma
      def add(label, gems:, folder:, local_gems: [], **options)
        @screen.busy("starting #{label}")
        environment = Bundle.new(folder, GEMS.merge(gems)).environment
        environment = environment.merge("RUBYLIB" => Bundle.load_paths(*local_gems).join(":"))
        @members[label] = Member.new(Origins::Puma.new(environment: environment, **options).launch)
      rescue Bundle::Failed => error
        @missing[label] = error.message
      end

      # Waits for all applications. The main thread has started them, because a process is killed when the thread that
      # started it ends.
      # @yield [label, member] to check the application; raises Stop if it does not work as expected
      def ready(&block)
        each { |_, member| connect(member) }
        each(&block)
      end

      def close = @members.each_value(&:stop)

      private

      def connect(member)
        member.origin.wait_until_ready
        member.process = PeerProcess.of(Peer.named("trunkline"), base: member.origin.plain, timeout: SECONDS_TO_ANSWER)
      end

      def each
        @members.to_a.each do |label, member|
          yield label, member
        rescue Origins::Missing, PeerProcess::Failed, Stop => error
          @missing[label] = error.message
          @members.delete(label).stop
        end
      end
    end
  end
end
