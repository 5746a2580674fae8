# frozen_string_literal: true

module Trunkline
  # A method for each HTTP method, for objects that have request(method, url, options). They are not made by
  # define_method: a method that is made of a block cannot be called in another Ractor, not even to raise RactorError
  # there.
  #
  # @api private
  module Verbs
    NAMES = %i[get head post put patch delete options trace].freeze

    def get(url = nil, options = nil, more = nil, &block) = request("GET", url, options, more, &block)
    def head(url = nil, options = nil, more = nil, &block) = request("HEAD", url, options, more, &block)
    def post(url = nil, options = nil, more = nil, &block) = request("POST", url, options, more, &block)
    def put(url = nil, options = nil, more = nil, &block) = request("PUT", url, options, more, &block)
    def patch(url = nil, options = nil, more = nil, &block) = request("PATCH", url, options, more, &block)
    def delete(url = nil, options = nil, more = nil, &block) = request("DELETE", url, options, more, &block)
    def options(url = nil, options = nil, more = nil, &block) = request("OPTIONS", url, options, more, &block)
    def trace(url = nil, options = nil, more = nil, &block) = request("TRACE", url, options, more, &block)
  end
end
