# frozen_string_literal: true

require_relative "content"
require_relative "curl_command"
require_relative "engine"
require_relative "headers"
require_relative "redacted"

module Trunkline
  # A request as it is sent: frozen, complete with the fields that the client adds. A RequestBuilder makes it, head and
  # all, as the engine sends it; its URL and its Headers become Ruby objects when they are asked for.
  #
  # From the engine itself:
  #
  #   method          "GET"
  #   uri             the URL, without userinfo and fragment
  #   target          "/users?page=2", a String (RFC 9112 3.2)
  #   origin          the Engine::Origin that it goes to
  #   builder         the RequestBuilder that made it, or nil
  #   content         nil, a String, or a Content
  #   content_length  bytes; -1 when it goes out chunked
  #   template        what the caller gave as template:, or nil
  #   progress        the TransferProgress::Reporter that progress: asked for, or nil
  #   follow          how many redirects it follows: an Integer, or false
  #   streaming?      whether its answer's body is taken piece by piece
  #   release         closes what its content itself has opened
  #   plain?          whether it follows no redirect, its answer is not streamed, and its content needs no release
  #
  # Only the first two are public. Request.new(method, uri, fields, body = nil), with fields as name, value, name,
  # value..., makes one that can be looked at, and not be sent.
  class Request
    include Redacted

    # @return [String] without userinfo and fragment
    def url = uri.to_s

    # @return [Headers] every field that is sent, Host first
    def headers
      Headers.new(_fields)
    end

    # @return [Object, nil] what the caller gave as the body, or as it was encoded: a String, IO, Enumerable, callable
    #   or Multipart
    def body = content.is_a?(Content) ? content.source : content

    # @return [String, nil] the content's bytes, "" without content; nil when it is streamed. For signatures
    def body_string
      return "" if content.nil?
      return content if content.is_a?(String)

      content.producer if content.is_a?(Content) && content.producer.is_a?(String)
    end

    # Another request made of this one. Content stays with its type, unless body: is given. To another origin, the
    # credentials and the Host of this one are left out, as after a redirect.
    #
    # @param url [String, URI, nil] absolute, or relative to this one's
    # @param method [String, Symbol, nil]
    # @param headers [Hash, Array, nil] laid over this one's; nil as a value removes one
    # @param body [Object] as body: of a call; nil for none
    # @return [Request]
    # @raise [InvalidRequest]
    def with(url: nil, method: nil, headers: nil, body: (kept = true))
      raise InvalidRequest, "with: this request was made by no client" unless builder

      builder.change(self, url: url && uri.follow(url.to_s), method: method, headers: headers,
                           content: kept ? content : [body])
    end

    # @param secrets [Boolean] whether credentials are shown: values of fields, parameters and members of JSON whose
    #   names say so, or are among the client's redact:
    # @return [String] as a command of curl; a body that is neither text, a form nor a file is expected on its
    #   standard input
    def to_curl(secrets: false) = CurlCommand.of(self, secrets ? nil : Redaction.of(self))

    # Header fields and the query are not shown: they may be credentials.
    # @return [String]
    def inspect
      "#<#{self.class} #{method} #{uri.shown}>"
    end

    # @return [Boolean] whether there is content to send, be it empty
    # @api private
    def content? = !content.nil?

    # @return [Boolean] whether its content can be sent again
    # @api private
    def rewindable? = !content.is_a?(Content) || content.rewindable?

    # @api private
    def rewind
      content.rewind if content.is_a?(Content)
    end

    # Marshal and YAML write no body, no query, and of header fields what Headers#inspect shows.
    # @return [Array]
    def marshal_dump = [method, uri, Headers.redact(_fields).flatten]

    def marshal_load(parts)
      initialize(*parts)
    end
  end
end
