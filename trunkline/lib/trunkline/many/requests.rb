# frozen_string_literal: true

require_relative "../errors"
require_relative "../redacted"
require_relative "../request"
require_relative "order"

module Trunkline
  module Many
    # Reads requests in all the forms that name one:
    #
    #   "https://api.test/users"                          a GET
    #   URI("https://api.test/users")                     a GET
    #   [:post, "https://api.test/users", { json: {} }]   method, URL, options
    #   { method: :post, url: "/users", json: {} }        the same as a Hash
    #   response.request                                  a Request, or what has its method, url, headers, body
    class Requests
      include Redacted

      ALLOWED = "a URL, [method, URL, options], a Hash with url:, or a Request"
      # URLs that need no closer look: most.
      PLAIN = %r{
        \Ahttps?://[a-z0-9]{1,60}(?:[.-][a-z0-9]{1,60}){0,3}(?::(?:[1-9]\d{0,3}|[1-5]\d{4}))?(?:/[!$&-;=?-Z_a-z~]*)?\z
      }x

      # @param client [Client]
      def initialize(client)
        @client = client
      end

      # @param index [Integer] named when the request is none
      # @param order [Order] a new one; or one that is over, was one exchange, and is known to nobody else
      # @return [Order] checked and composed
      # @raise [InvalidRequest]
      # @raise [MissingTimeout]
      def order(item, index, order = Order.new)
        order.item = item
        order.index = index
        item.is_a?(String) ? @client._prepare_get(order, item) : compose(order)
        order
      rescue InvalidRequest => error
        raise InvalidRequest, "request #{index}: #{error.message}"
      end

      # An order that waited has its turn.
      def compose(order)
        item = order.item
        return @client._prepare_get(order, item) if item.is_a?(String)

        method, url, options = read(item)
        @client._prepare(order, method, url, options)
      end

      # Looks at all requests before one of them is sent.
      # @param items [Array]
      # @raise [InvalidRequest] with the index of the first that is none
      # @raise [MissingTimeout]
      def check(items)
        last = nil
        index = 0
        while index < items.size
          item = items[index]
          order(item, index) unless item.equal?(last) || (item.is_a?(String) && PLAIN.match?(item))
          last = item
          index += 1
        end
      end

      private

      # @return [Array] method, URL and options or nil
      def read(item)
        case item
        when Array then read_array(item)
        when URI::Generic, URL then ["GET", item, nil]
        when Hash then read_hash(item)
        else read_request(item)
        end
      end

      def read_array(item)
        method, url, options = item
        fits = item.size.between?(2, 3) && (method.is_a?(Symbol) || method.is_a?(String)) &&
               (options.nil? || options.is_a?(Hash))
        refuse(item) unless fits
        method.is_a?(Symbol) ? [verb(method), url, options] : item
      end

      def read_hash(item)
        refuse(item) unless item.key?(:url)

        rest = item.except(:method, :url)
        [verb(item.fetch(:method, "GET")), item[:url], rest.empty? ? nil : rest]
      end

      # What the client itself added to a request of its own is added again.
      def read_request(item)
        refuse(item) unless item.is_a?(Request) || like_request?(item)

        options = { headers: item.headers.to_a.reject { |name, _| name.match?(Policy::Redirect::COMPUTED) } }
        options[:body] = item.body unless item.body.nil?
        [verb(item.method), item.url, options]
      end

      # Every object has a method named method: Kernel's is none.
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
