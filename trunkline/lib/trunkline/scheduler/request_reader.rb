# frozen_string_literal: true

require_relative "../arguments"
require_relative "../errors"
require_relative "../policy/redirect"
require_relative "../redacted"
require_relative "../request"
require_relative "../url"
require_relative "pending_request"

module Trunkline
  class Scheduler
    # Reads a request in any form that a caller may use:
    #
    #   "https://api.test/users"                          a GET
    #   URI("https://api.test/users")                     a GET
    #   [:post, "https://api.test/users", { json: {} }]   method, URL, options
    #   { method: :post, url: "/users", json: {} }        the same as a Hash
    #   response.request                                  a Request, or an object with method, url, headers, body
    class RequestReader
      include Redacted

      ALLOWED = "a URL, [method, URL, options], a Hash with url:, or a Request"

      # @param builder [CallBuilder]
      def initialize(builder)
        @builder = builder
        @requests = builder.requests
        @policy = builder.policy
      end

      # @param item [Object] as the caller gave it
      # @param index [Integer] for the message of an error
      # @param pending [PendingRequest] a new one, or one that has ended and that nothing else refers to
      # @return [PendingRequest] checked and composed
      # @raise [InvalidRequest] with the index in its message
      # @raise [MissingTimeout]
      def read(item, index, pending = PendingRequest.new)
        pending.item = item
        pending.index = index
        return compose(pending) unless item.is_a?(String) && @policy.nil? && !CallerContext.needed?

        pending.request = @requests.build("GET", item, nil, :buffered)
        pending.plain = true
        pending
      rescue InvalidRequest => error
        raise InvalidRequest, "request #{index}: #{error.message}"
      end

      # Sets request and policy; the request of a waiting PendingRequest may have been dropped.
      # @return [PendingRequest]
      def compose(pending)
        pending.plain = false
        item = pending.item
        return @builder.prepare(pending, "GET", item) if item.is_a?(String)

        method, url, options = item.is_a?(Array) ? parts_of_array(item) : parts(item)
        @builder.prepare(pending, method, url, options)
      end

      # @param items [Array]
      # @param from [Integer]
      # @return [Integer, nil] the index of the next item that #read may refuse: any item that is no usual URL
      def next_unusual(items, from)
        @builder.requests.next_unusual(items, from)
      end

      private

      # @return [Array] method, URL and options or nil
      def parts(item)
        case item
        when URL, ->(any) { URL.uri?(any) } then ["GET", item, nil]
        when Hash then parts_of_hash(item)
        else parts_of_request(item)
        end
      end

      def parts_of_array(item)
        method, url, options = item
        size = item.size
        refuse(item) unless size > 1 && size < 4
        Arguments.options(options, Arguments::BODY_HINT) if options
        return item if method.is_a?(String)

        refuse(item) unless method.is_a?(Symbol)
        [verb(method), url, options]
      end

      def parts_of_hash(item)
        refuse(item) unless item.key?(:url)

        rest = item.except(:method, :url)
        [verb(item.fetch(:method, "GET")), item[:url], rest.empty? ? nil : rest]
      end

      # Fields that the client computes are left out, since it computes them again.
      def parts_of_request(item)
        refuse(item) unless item.is_a?(Request) || like_request?(item)

        options = { headers: item.headers.to_a.reject { |name, _| name.match?(Policy::Redirect::COMPUTED) } }
        options[:body] = item.body unless item.body.nil?
        [verb(item.method), item.url, options]
      end

      # Every object has Kernel#method, which is not a request's method.
      def like_request?(item)
        %i[url headers body].all? { |name| item.respond_to?(name) } &&
          Kernel.instance_method(:method).bind_call(item, :method).owner != Kernel
      end

      def verb(method)
        method.is_a?(Symbol) ? method.name.upcase : method
      end

      def refuse(item)
        raise InvalidRequest.of("request", item, ALLOWED)
      end
    end
  end
end
