# frozen_string_literal: true

require_relative "chatty"
require_relative "nplus1"
require_relative "xml"

module Trunkline
  module Lab
    module Commands
      # Downloads the gems that the experiments compare, so that the downloads do not count in the experiments' time.
      class Install < Command
        summary "download the gems of every client that is not installed (into the lab's cache)"
        timed false

        private

        def defaults
          @installed = {}
          @failed = false
        end

        def title = "The gems that the experiments compare"

        def measure
          Bundle.download = true
          wanted = bundles
          @screen.progress("install", wanted.size) do |advance|
            wanted.each do |folder, gems|
              install(folder, gems)
              advance.call
            end
          end
        end

        # @return [Hash] name => gems
        def bundles
          able, others = (Peer.all + Peer.with_policies).partition { |peer| peer.missing.nil? }
          others.each { |peer| @result.missing[peer.label] = peer.missing }
          clients = able.to_h { |peer| [peer.bundle, peer.gems] }
          applications = { **Chatty.bundles, **XMLRequests.bundles, **Nplus1.bundles }
          { **clients, **XML.bundles, **applications }.reject { |_, gems| gems.empty? }
        end

        def install(folder, gems)
          @screen.busy("installing #{gems.keys.join(", ")}")
          Bundle.new(folder, gems).environment
          @installed[folder] = gems
        rescue Bundle::Failed => error
          @result.missing[folder] = error.message
          @failed = true
        end

        def status = @failed ? FAILED : super

        def conclude
          rows = @installed.map { |folder, gems| [folder, gems.map { |gem| gem.join(" ") }.join(", ")] }
          @result.table(nil, %w[for gems], rows) if rows.any?
          @result.say("#{rows.size} sets of gems are installed, #{@result.missing.size} are not.")
        end
      end
    end
  end
end
