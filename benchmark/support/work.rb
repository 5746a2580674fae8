# frozen_string_literal: true

require "digest"
require_relative "origin"

module Bench
  # The work that all competitors of one comparison are timed at: the task of a client's process, and its arguments.
  class Work
    # GETs of one path, one after the other or as lists with `concurrency` in flight.
    # @param urls [String] one of Paths::KINDS
    # @param concurrency [Integer, nil] number of requests in flight
    def self.gets(path, urls:, concurrency: nil)
      arguments = { path: path, urls: urls, concurrency: concurrency }.compact
      new(concurrency ? :lists : :gets, arguments, check: { path: path, concurrency: concurrency }.compact)
    end

    # GETs while another thread computes, which holds the GVL whenever it can.
    def self.beside_computing(path, concurrency: nil)
      arguments = { path: path, concurrency: concurrency }.compact
      new(:beside_computing, arguments, check: arguments)
    end

    # POSTs of orders (Orders), one after the other or in batches with `concurrency` in flight.
    def self.orders(path, concurrency: nil)
      new(:orders, { path: path, concurrency: concurrency }.compact, check: { path: path })
    end

    def initialize(task, arguments, check:)
      @task = task
      @arguments = arguments
      @check = check
    end

    # @param process [PeerProcess]
    # @return [Hash] requests, and wall and cpu in seconds
    def time(process, seconds) = process.ask(@task, seconds: seconds, **@arguments)

    # The same work by a program in C, which makes only GETs.
    def time_program(program, seconds)
      path, urls, concurrency = @arguments.values_at(:path, :urls, :concurrency)
      program.for_seconds(path, seconds, at_once: concurrency, distinct: urls == "distinct")
    end

    # @return [String] a digest of what the process receives
    def digest(process) = process.ask(@task == :orders ? :order_digest : :body_digest, **@check)

    def digest_by_program(program) = program.probe(call: { path: @arguments.fetch(:path) })[:digest]

    # @return [String, nil] the digest that all must have; nil: that of the first competitor
    def expected
      Digest::SHA256.hexdigest(Origin.body(@arguments.fetch(:path))) unless @task == :orders
    end
  end
end
