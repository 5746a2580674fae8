# frozen_string_literal: true

require_relative "content"
require_relative "curl_command"
require_relative "engine"
require_relative "headers"
require_relative "redacted"

module Trunkline
  # A request as it is sent: frozen, with the header fields that the client adds. A RequestBuilder composes it, with its
  # head as the engine sends it; its URL and its Headers become Ruby objects on first use.
  #
  # The engine defines these methods:
  #
  #   method          "GET"
  #   uri             the URL, without userinfo and fragment
  #   target          "/users?page=2", a String (RFC 9112 3.2)
  #   origin          the Engine::Origin to which the request is sent
  #   builder         the RequestBuilder that made the request, or nil
  #   content         nil, a String, or a Content
  #   content_length  bytes; -1 when the content is sent chunked
  #   template        the value of the option template:, or nil
  #   progress        the TransferProgress::Reporter for the option progress:, or nil
  #   follow          how many redirects are followed: an Integer, or false
  #   streaming?      whether the body of the response is read piece by piece
  #   release         closes what the content itself has opened
  #   plain?          whether no redirect is followed, the response is not streamed, and the content needs no release
  #
  # Only method and uri are public. Request.new(method, uri, fields, body = nil), with fields as name, value, name,
  # value..., makes a request that can be read but not sent.
  class Request
    include Redacted

    # @return [String] without userinfo and fragment
    def url = uri.to_s

    # @return [Headers] every field that is sent, Host first
    def headers
      Headers.new(_fields)
    end

    # @return [Object, nil] the body as the caller gave it, or its encoded form: a String, IO, Enumerable, callable or
    #   Multipart; nil for none
    def body = content.is_a?(Content) ? content.source : content

    # @return [String, nil] the bytes of the content, for signatures; "" without content; nil when the content is
    #   streamed
    def body_string
      return "" if content.nil?
      return content if content.is_a?(String)

      content.producer if content.is_a?(Content) && content.producer.is_a?(String)
    end

    # Returns a changed copy of this request. Without body:, the content and its type are kept. If url has another
    # origin, credentials and Host are left out, as after a redirect.
    #
    # @param url [String, URI, nil] absolute, or relative to the URL of this request; nil keeps it
    # @param method [String, Symbol, nil] nil keeps the method
    # @param headers [Hash, Array, nil] fields to add or replace; nil as a value removes a field
    # @param body [Object] as the option body: of a call; nil for no content
    # @return [Request]
    # @raise [InvalidRequest] for an invalid argument, and when no client made this request
    def with(url: nil, method: nil, headers: nil, body: RequestBuilder::UNCHANGED)
      raise InvalidRequest, "with: this request was made by no client" unless builder

      builder.change(self, url: url && uri.follow(url.to_s), method: method, headers: headers, body: body)
    end

    # @param secrets [Boolean] whether to show credentials: values of header fields, parameters and members of JSON
    #   whose names mark them as credentials, or are in the client's redact:
    # @return [String] the request as a curl command; the command reads a body that is neither text, a form nor a file
    #   from standard input
    def to_curl(secrets: false) = CurlCommand.of(self, secrets ? nil : Redaction.of(self))

    # Header fields and the query are not shown: they may be credentials.
    # @return [String]
    def inspect
      "#<#{self.class} #{method} #{uri.shown}>"
    end

    # @return [Boolean] whether there is content to send, even if it is empty
    # @api private
    def content? = !content.nil?

    # @return [Boolean] whether the content can be sent again
    # @api private
    def rewindable? = !content.is_a?(Content) || content.rewindable?

    # @api private
    def rewind
      content.rewind if content.is_a?(Content)
    end

    # Marshal and YAML write neither the body nor the query, and header fields as Headers#inspect shows them.
    # @return [Array]
    def marshal_dump = [method, uri, Headers.redact(_fields).flatten]

    def marshal_load(parts)
      initialize(*parts)
    end
  end
end
