# frozen_string_literal: true

require_relative "../trunkline"

module Bench
  module Peers
    # Lists by Client#batch, with a block for each request, instead of Client#each.
    class TrunklineBatch < Trunkline
      label "Trunkline, batch"

      def list(paths, at_once)
        (@client ||= open).batch(concurrency: at_once) do |batch|
          paths.each { |path| batch.get(path) { |answer| yield body_of(answer) } }
        end
      end
    end
  end
end
