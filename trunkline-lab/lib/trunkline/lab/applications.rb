# frozen_string_literal: true

require_relative "origins/puma"
require_relative "peer_process"

module Trunkline
  module Lab
    # Rack applications to be compared, each under a Puma of its own and called by a client of its own; all are stopped
    # whatever happens. One that cannot be had is named with the reason.
    class Applications
      GEMS = { "puma" => ">= 6.0", "rack" => ">= 2.2" }.freeze
      SECONDS_TO_ANSWER = 60

      # One that is up.
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

      # @param gems [Hash] those that it needs
      # @param folder [String] the name that they are kept under
      # @param ours [Array<String>] gems of this process that it needs, where they are loaded from
      # @param options [Hash] those of Origins::Puma
      # @return [Member, nil]
      def add(label, gems:, folder:, ours: [], **options)
        @screen.busy("starting #{label}")
        environment = Bundle.new(folder, GEMS.merge(gems)).environment
        environment = environment.merge("RUBYLIB" => Bundle.own_paths(*ours).join(":"))
        member = Member.new(Origins::Puma.new(environment: environment, **options).start)
        member.process = PeerProcess.of(Peer.named("trunkline"), base: member.origin.plain, timeout: SECONDS_TO_ANSWER)
        @members[label] = member
      rescue Bundle::Failed, Origins::Missing => error
        member&.stop
        @missing[label] = error.message
        nil
      end

      # It is not what it should be.
      def dismiss(label, reason)
        @missing[label] = reason
        @members.delete(label)&.stop
      end

      def close = @members.each_value(&:stop)
    end
  end
end
