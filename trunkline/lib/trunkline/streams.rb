# frozen_string_literal: true

require_relative "arguments"
require_relative "download"
require_relative "event_source"
require_relative "stream_options"
require_relative "websocket"

module Trunkline
  # Methods of Client for responses that are streams. The methods of Response for them are in response/.
  module Streams
    # Follows an event stream (WHATWG HTML 9.2), as EventSource does in browsers. When the stream ends or fails, this
    # method connects again after the time that the server set (by default 3 s), and sends the ID of the last event in
    # Last-Event-ID. It yields events until the server responds with 204, or the block is left.
    #
    #   client.events("/orders/events", on_reconnect: ->(reason, wait) { log(reason, wait) }) do |event|
    #     handle(JSON.parse(event.data))
    #   end
    #
    # Failures are connection errors, timeouts of phases other than queue, truncated responses, statuses 429 and 5xx,
    # and streams without any bytes. Waits after failures grow up to 30 s, and are no shorter than Retry-After (up to
    # 300 s). Any status other than these, 200 and 204 raises at once. Redirects are followed. timeout: limits the
    # phases, so that read: is how long the server may be silent; a total is the limit of each phase without one.
    # Trunkline.deadline limits the whole call.
    #
    # A request whose method is not safe (RFC 9110 9.2.1), such as POST, is sent once, unless attempts: is given: the
    # method returns when the stream ends, and raises when it fails.
    #
    # @param url [String, URI, URL, nil] nil is the base URL
    # @param method [Symbol, String]
    # @param attempts [Integer, Float::INFINITY, nil] after how many failures in a row to raise; nil: 10 for a safe
    #   method
    # @param last_event_id [String, nil] the ID of the last event of an earlier run
    # @param on_reconnect [#call, nil] called before each wait with the reason (:ended, or the Error) and the seconds to
    #   wait
    # @param limit [Integer, nil] see Response#each_event
    # @param options [Hash] as for the verbs
    # @yield [event]
    # @yieldparam event [ServerSentEvent]
    # @return [nil, Enumerator] nil when the stream is over; an Enumerator without a block
    # @raise [ClientError] for a status of 4xx other than 429
    # @raise [NoEventStream] for a response that is not an event stream
    # @raise [EventTooLarge] for an event that is larger than limit
    # @raise [Error] the last failure after attempts: failures in a row, and any error that connecting again cannot
    #   solve
    # @raise [InvalidRequest] for an invalid argument
    def events(url = nil, method: :get, attempts: nil, last_event_id: nil, on_reconnect: nil,
               limit: EventStreamParser::LIMIT, **options, &block)
      call = StreamOptions.of(options, @options.timeout, EventSource::FIELDS)
      sender = ->(call_options) { request(method, url, call_options) }
      source_options = { attempts: attempts, last_event_id: last_event_id, on_reconnect: on_reconnect, limit: limit }
      source = -> { EventSource.new(sender, method, call, **source_options) }
      return source.call.each(&block) if block

      # The inspect of an Enumerator made by enum_for would show the options, and with them credentials.
      Enumerator.new { |events| source.call.each { |event| events << event } }
    end

    # Saves the response body of a GET in a file. The bytes are written to a file beside it ("name.part"), which is
    # renamed when all bytes are there and have been checked: their number, Repr-Digest and Content-Digest (RFC 9530),
    # and checksum:. An existing file is not replaced before that.
    #
    #   client.download("/exports/2026.csv", to: "2026.csv", progress: true).bytes
    #
    # After a failure, the missing bytes are requested (Range, with If-Range: RFC 9110 13.1.5): by this call, until four
    # retries in a row brought no byte; and by a later call, in any process, unless resume: is false. If the server's
    # copy has changed meanwhile, the bytes of the old copy are discarded. timeout: limits the phases, so that read: is
    # how long the server may be silent; a total is the limit of each phase without one. Trunkline.deadline limits the
    # whole call. Redirects are followed.
    #
    # @param url [String, URI, URL, nil] nil is the base URL
    # @param to [String, Pathname] the path of the file
    # @param resume [Boolean] whether to continue the download that an earlier call has left incomplete
    # @param parts [Integer] how many ranges to download concurrently, from 1 to 32, if the server allows it
    # @param checksum [String, nil] the expected digest: "sha-256:" (or sha-512, sha-384, sha-1, md5) and hexadecimal
    #   digits
    # @param progress [true, #call, nil] true: a bar on a terminal; a callable is called with a TransferProgress about
    #   ten times a second
    # @param options [Hash] as for the verbs
    # @return [Downloaded] path, bytes, resumed?, changed?, response
    # @raise [DownloadError] when the bytes fail a check, the server's copy changes repeatedly, or another download
    #   writes to the same file
    # @raise [StatusError] for 4xx and 5xx
    # @raise [SystemCallError] when the file cannot be written, as on a full disk
    # @raise [Error] the last failure
    # @raise [InvalidRequest] for an invalid argument, before anything is sent
    def download(url = nil, *more, to: nil, resume: true, parts: 1, checksum: nil, progress: nil, **options)
      Arguments.refuse_more(more, "download", "a URL, the path of a file as to:, and options")
      call = StreamOptions.of(options, @options.timeout, Download::FIELDS)
      fields = call[:headers]
      sender = ->(more) { request(:get, url, { **call, headers: StreamOptions.merge_default_fields(more, fields) }) }
      address = @requests.build("GET", url, nil, :buffered).url
      Download.new(sender, address, to: to, resume: resume, parts: parts, checksum: checksum, progress: progress).run
    end

    # Opens a WebSocket with the client's proxy, TLS options, limits, header fields and credentials: on a connection of
    # its own (RFC 6455), or as a stream of an open HTTP/2 connection whose server supports that (RFC 8441). http: :h1
    # and http: :h2 force the first and the second. Needs the gem websocket-driver.
    #
    #   client.websocket("wss://api.test/prices", ping: 20) do |socket|
    #     socket.write("subscribe")
    #     socket.each { |message| handle(message) }
    #   end
    #
    # timeout: limits the phases of the opening. Afterwards read: is how long the server may be silent while the socket
    # is read, and write: how long it may accept no byte. A total is the limit of each phase without one.
    #
    # @param url [String, URI, URL, nil] a ws:, wss:, http: or https: URL, or a path below the base URL; nil is the base
    #   URL
    # @param protocols [String, Array<String>, nil] the subprotocols that the caller supports, the preferred one first
    # @param compress [Boolean] whether to offer permessage-deflate (RFC 7692)
    # @param max_message_bytes [Integer] the maximum size of a received message in bytes, after decompression
    # @param ping [Numeric, nil] seconds of silence after which a thread that reads sends a ping; after the same time
    #   without a response the socket is closed
    # @param options [Hash] as for the verbs
    # @yieldparam socket [WebSocket::Socket] closed when the block is left
    # @return [WebSocket::Socket, Object] the socket; with a block, the block's value
    # @raise [StatusError] when the server refuses with 4xx or 5xx
    # @raise [InvalidResponse] for a response other than 101 (over HTTP/2: 2xx), and for one with an invalid handshake
    # @raise [ProtocolError] with http: :h2, when the server does not support WebSockets over HTTP/2
    # @raise [InvalidRequest] for an invalid argument, and without the gem websocket-driver
    # @raise [Error] any other failure of the call
    def websocket(url = nil, protocols: nil, compress: false, ping: nil,
                  max_message_bytes: WebSocket::MAX_MESSAGE_BYTES, **options)
      opening = { protocols: protocols, compress: compress, max_message_bytes: max_message_bytes, ping: ping }
      socket = WebSocket.open(method(:open_websocket), url, @options.timeout, options: options, **opening)
      return socket unless block_given?

      begin
        yield(socket).tap { socket.close }
      ensure
        socket.abort # when the block was left early; else it is closed already
      end
    end
  end
end
