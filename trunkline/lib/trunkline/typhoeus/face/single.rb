# frozen_string_literal: true

require_relative "streamed_flight"

module Trunkline
  module TyphoeusFace
    # Carries one request, in the caller's thread.
    module Single
      module_function

      # @param request [Typhoeus::Request]
      # @return [Typhoeus::Response]
      def perform(request)
        flight = Flight.of(request)
        return request.response if flight.refused?

        plan = flight.plan
        plan = flight.streamed? ? stream(flight, plan) : carry(flight, plan) while plan
        request.response
      end

      def carry(flight, plan)
        flight.take(exchange(plan, flight.deadline, false))
      end

      def exchange(plan, deadline, streaming)
        Engine.perform(Recipe.family.pool, plan.prepared, plan.request, plan.content.producer, plan.body_length,
                       deadline, streaming, nil)
      rescue Error => error
        error
      end

      # What a callback raises goes to the caller, and ends the exchange.
      def stream(flight, plan)
        response = exchange(plan, flight.deadline, held = [])
        following = flight.take(response)
        following = flight.take(piece(response)) until following || flight.over?
        following
      ensure
        held&.each(&:close)
      end

      def piece(response)
        response._streamed.read
      rescue Error => error
        error
      end

      private_class_method :carry, :exchange, :stream, :piece
    end
  end
end
