# frozen_string_literal: true

require_relative "origins/puma"
require_relative "peer_process"

module Trunkline
  module Lab
    # Rack applications to be compared, each under a Puma of its own and called by a client of its own; all are stopped
    # whatever happens. One that cannot be started is named with the reason.
    class Applications
      GEMS = { "puma" => ">= 6.0", "rack" => ">= 2.2" }.freeze
      SECONDS_TO_ANSWER = 60

      # An application that answers, and the client that calls it.
      Member = Struct.new(:origin, :process) do
        def ask(...) = process.ask(...)
        def stop = [process, origin].compact.each(&:stop)
      end

      # @param missing [Hash] label => reason, added to
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

      # It is not waited for: all load side by side.
      # @param gems [Hash] those that it needs
      # @param folder [String] the name that they are kept under
      # @param ours [Array<String>] gems of this process that it needs, where they are loaded from
      # @param options [Hash] those of Origins::Puma
      def add(label, gems:, folder:, ours: [], **options)
        @screen.busy("starting #{label}")
        environment = Bundle.new(folder, GEMS.merge(gems)).environment
        environment = environment.merge("RUBYLIB" => Bundle.own_paths(*ours).join(":"))
        @members[label] = Member.new(Origins::Puma.new(environment: environment, **options).launch)
      rescue Bundle::Failed => error
        @missing[label] = error.message
      end

      # Waits for all of them. (They are started by the main thread: what a thread starts is killed when that ends.)
      # @yield [label, member] to be looked at; Stop says that it is not what it should be
      def ready(&block)
        each { |_, member| connect(member) }
        each(&block)
      end

      def close = @members.each_value(&:stop)

      private

      def connect(member)
        member.origin.wait_until_it_serves
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
