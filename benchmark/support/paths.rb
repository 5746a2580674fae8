# frozen_string_literal: true

module Bench
  # The paths that the calls of one client request: "distinct", each with a number in its query that no earlier call
  # had; or "repeated", always the same.
  class Paths
    KINDS = %w[distinct repeated].freeze
    FIRST = 1_000_000 # so that all paths have the same length

    # @param path [String]
    # @param urls [String] one of KINDS
    # @param prefix [String] put before the numbers, so that several instances make different paths
    def initialize(path, urls, prefix: "")
      raise ArgumentError, "urls: must be one of #{KINDS.join(", ")}, got #{urls.inspect}" unless KINDS.include?(urls)

      @path = path
      @start = "#{path}?#{prefix}"
      @number = FIRST
      @distinct = urls == "distinct"
    end

    # @return [String]
    def next = @distinct ? "#{@start}#{@number += 1}" : @path

    # @return [Array<String>]
    def take(count) = Array.new(count) { self.next }
  end
end
