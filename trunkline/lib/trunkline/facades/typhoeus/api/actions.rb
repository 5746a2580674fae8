# frozen_string_literal: true

module Typhoeus
  class Request
    # A method for each HTTP method, which makes a request and runs it. Extends Typhoeus and Request.
    module Actions
      %i[get post put delete head patch options].each do |verb|
        # @param base_url [String]
        # @param options [Hash] see Request#initialize
        # @return [Response]
        define_method(verb) do |base_url, options = {}|
          Request.new(base_url, options.merge(method: verb)).run
        end
      end
    end
  end
end
