# frozen_string_literal: true

require "digest"
require_relative "origin"

module Bench
  # What all competitors of one comparison are timed at: the task of a client's process, and what it is told.
  class Work
    # GETs of one path, one after the other or as lists with so many in flight.
    # @param urls [String] one of Paths::KINDS
    # @param at_once [Integer, nil] in flight
    def self.gets(path, urls:, at_once: nil)
      told = { path: path, urls: urls, at_once: at_once }.compact
      new(at_once ? :lists : :gets, told, check: { path: path, at_once: at_once }.compact)
    end

    # The same beside a thread that computes, which keeps the GVL whenever it can.
    def self.beside_computing(path, at_once: nil)
      new(:beside_computing, { path: path, at_once: at_once }.compact, check: { path: path, at_once: at_once }.compact)
    end

    # POSTs of orders (Orders), one after the other or in batches with so many in flight.
    def self.orders(path, at_once: nil)
      new(:orders, { path: path, at_once: at_once }.compact, check: { path: path })
    end

    def initialize(task, arguments, check:)
      @task = task
      @arguments = arguments
      @check = check
    end

    # @param process [PeerProcess]
    # @return [Hash] requests, and wall and cpu in seconds
    def time(process, seconds) = process.ask(@task, seconds: seconds, **@arguments)

    # The same by a program in C, which makes GETs alone.
    def time_program(program, seconds)
      path, urls, at_once = @arguments.values_at(:path, :urls, :at_once)
      program.for_seconds(path, seconds, at_once: at_once, distinct: urls == "distinct")
    end

    # @return [String] a digest of what the process is answered
    def digest(process) = process.ask(@task == :orders ? :order_digest : :body_digest, **@check)

    def digest_by_program(program) = program.probe(call: { path: @arguments.fetch(:path) })[:digest]

    # @return [String, nil] the digest that all must give; nil: that of the first
    def expected
      Digest::SHA256.hexdigest(Origin.body(@arguments.fetch(:path))) unless @task == :orders
    end
  end
end
