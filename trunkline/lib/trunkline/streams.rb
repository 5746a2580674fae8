# frozen_string_literal: true

require_relative "arguments"
require_relative "download"
require_relative "event_source"
require_relative "stream_options"
require_relative "websocket"

module Trunkline
  # What a Client does with answers that are streams. What a Response does with them is in response/.
  module Streams
    # Follows an event stream (WHATWG HTML 9.2), as EventSource does: when it ends or fails, connects again after the
    # time that the server asked for (3 s unless it did), and says with Last-Event-ID which event was the last. The
    # events that come are yielded until the server answers 204, or the block is left.
    #
    #   client.events("/orders/events", on_reconnect: ->(reason, wait) { log(reason, wait) }) do |event|
    #     handle(JSON.parse(event.data))
    #   end
    #
    # Failures that count are those of connections, statuses 429 and 5xx, and streams of which nothing came; waits
    # between them grow up to 30 s, and are no shorter than Retry-After says. Other statuses raise at once. Redirects
    # are followed. timeout: bounds the phases, so that read: is how long the server may be silent; a total holds for
    # each phase. Trunkline.deadline bounds all.
    #
    # A method that is not safe (RFC 9110 9.2.1), such as POST, is sent once: a stream that ends is the end, and one
    # that fails raises, unless attempts: is given.
    #
    # @param url [String, URI, URL, nil]
    # @param method [Symbol, String]
    # @param attempts [Integer, Float::INFINITY, nil] how many may fail in a row; nil: 10 for a safe method
    # @param last_event_id [String, nil] of the last event of an earlier run
    # @param on_reconnect [#call, nil] gets why (:ended, or the Error) and the seconds to wait, before each wait
    # @param limit [Integer, nil] see Response#each_event
    # @param options [Hash] as those of the verbs
    # @yield [event]
    # @yieldparam event [ServerSentEvent]
    # @return [nil, Enumerator] when there is no more to come
    # @raise [ClientError] for a status of 4xx but 429
    # @raise [NoEventStream] for an answer that is none
    # @raise [EventTooLarge]
    # @raise [Error] the last failure when attempts: are used up, and those that connecting again does not help
    # @raise [InvalidRequest]
    def events(url = nil, method: :get, attempts: nil, last_event_id: nil, on_reconnect: nil,
               limit: EventStreamParser::LIMIT, **options, &block)
      call = StreamOptions.of(options, @options.timeout, EventSource::FIELDS)
      sender = ->(own) { request(method, url, own) }
      following = { attempts: attempts, last_event_id: last_event_id, on_reconnect: on_reconnect, limit: limit }
      source = -> { EventSource.new(sender, method, call, **following) }
      return source.call.each(&block) if block

      # enum_for would show the options, and with them credentials.
      Enumerator.new { |events| source.call.each { |event| events << event } }
    end

    # Saves the answer to a GET in a file. The bytes are written beside it ("name.part") and renamed when all are there
    # and right: their number, Repr-Digest and Content-Digest (RFC 9530), and checksum:. An existing file is replaced
    # then, and not before.
    #
    #   client.download("/exports/2026.csv", to: "2026.csv", progress: true).bytes
    #
    # After a failure the rest is asked for (Range, with If-Range: RFC 9110 13.1.5), by this call, until four in a row
    # brought no byte; and by a later one, in another process too, unless resume: is false. Bytes of a copy that the
    # server has changed meanwhile are left. timeout: bounds the phases, so that read: is how long the server may be
    # silent; a total holds for each phase. Trunkline.deadline bounds all. Redirects are followed.
    #
    # @param url [String, URI, URL, nil]
    # @param to [String, Pathname] the file
    # @param resume [Boolean] whether to go on with what an earlier call has left
    # @param parts [Integer] how many ranges to fetch side by side, where the server allows it
    # @param checksum [String, nil] "sha-256:" and the digest in hexadecimal; sha-512, sha-384, sha-1, md5
    # @param progress [true, #call, nil] true: a bar on a terminal; or called with a TransferProgress about ten times a
    #   second
    # @param options [Hash] as those of the verbs
    # @return [Downloaded] path, bytes, resumed?, changed?, response
    # @raise [DownloadError] when the file has other bytes than it should, or somebody else downloads it
    # @raise [StatusError] for 4xx and 5xx
    # @raise [SystemCallError] when the file cannot be written, as on a full disk
    # @raise [Error] the last failure
    # @raise [InvalidRequest] before anything is sent
    def download(url = nil, *more, to: nil, resume: true, parts: 1, checksum: nil, progress: nil, **options)
      Arguments.refuse_more(more, "download", "a URL, the path of a file as to:, and options")
      call = StreamOptions.of(options, @options.timeout, Download::FIELDS)
      fields = call[:headers]
      sender = ->(more) { request(:get, url, { **call, headers: StreamOptions.laid_over(more, fields) }) }
      address = @requests.build("GET", url, nil, false).url
      Download.new(sender, address, to: to, resume: resume, parts: parts, checksum: checksum, progress: progress).run
    end

    # Opens a WebSocket through the client's proxy, TLS and limits, with its fields and credentials: on a connection of
    # its own (RFC 6455), or as a stream of an open connection over HTTP/2 whose server takes that (RFC 8441). http: :h1
    # and :h2 insist on the one or the other. The gem websocket-driver is needed.
    #
    #   client.websocket("wss://api.test/prices", ping: 20) do |socket|
    #     socket.write("subscribe")
    #     socket.each { |message| handle(message) }
    #   end
    #
    # timeout: bounds the opening by its phases; then read: is how long the server may be silent while the socket is
    # read, and write: how long it may take no byte. A total holds for each phase.
    #
    # @param url [String, URI, URL, nil] ws:, wss:, http:, https:, or a path below the base
    # @param protocols [String, Array<String>, nil] that the caller speaks, the best first
    # @param compress [Boolean] whether to offer permessage-deflate (RFC 7692)
    # @param max_message_bytes [Integer] of a message that comes, inflated
    # @param ping [Numeric, nil] seconds of silence after which a reader sends a ping; without an answer after as many
    #   again the socket is closed
    # @param options [Hash] as those of the verbs
    # @yieldparam socket [WebSocket::Socket] closed when the block is left
    # @return [WebSocket::Socket, Object] the block's value, if there is one
    # @raise [StatusError] when the server refuses with 4xx or 5xx
    # @raise [InvalidResponse] for another answer than 101 (over HTTP/2: 2xx), and for one that does not fit
    # @raise [ProtocolError] with http: :h2, when the server takes no WebSockets over HTTP/2
    # @raise [InvalidRequest] without the gem, too
    # @raise [Error]
    def websocket(url = nil, protocols: nil, compress: false, ping: nil,
                  max_message_bytes: WebSocket::MAX_MESSAGE_BYTES, **options)
      opening = { protocols: protocols, compress: compress, max_message_bytes: max_message_bytes, ping: ping }
      socket = WebSocket.open(method(:switch), url, @options.timeout, options: options, **opening)
      return socket unless block_given?

      begin
        yield(socket).tap { socket.close }
      ensure
        socket.abort # when the block was left early; else it is closed already
      end
    end
  end
end
