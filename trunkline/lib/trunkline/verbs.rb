# frozen_string_literal: true

module Trunkline
  # A method for each verb, for objects that have request(method, url, options).
  #
  # @api private
  module Verbs
    NAMES = %i[get head post put patch delete options trace].freeze

    NAMES.each do |verb|
      name = verb.name.upcase.freeze
      define_method(verb) { |url = nil, options = nil, &block| request(name, url, options, &block) }
    end
  end
end
