# frozen_string_literal: true

require_relative "driving"
require_relative "switched"
require_relative "../../redacted"

module Trunkline
  module Engine
    module Ruby
      # The engine's part of a Response: the data received so far, and the methods that read the rest of a streamed one.
      class ResponseState
        include Redacted

        # What #connect has instead of a head.
        NO_HEAD = Struct.new(:status, :reason, :given_reason, :minor_version, :fields, :framing)
          .new(0, "", nil, 0, [].freeze, nil).freeze
        private_constant :NO_HEAD

        # @param exchange [Exchange]
        def initialize(exchange)
          @exchange = exchange
          @busy = false
          @complete = @closed = false
        end

        # @return [Exchange]
        attr_reader :exchange
        # @return [String, nil] BINARY: the whole body of a response that is not streamed
        attr_reader :body
        # @return [Switched, nil] the connection after 101 (Switching Protocols)
        attr_reader :switched

        def head? = !@exchange.head.nil?
        def status = head.status
        def reason = head.reason
        def given_reason = head.given_reason
        def minor_version = head.minor_version
        def fields = head.fields
        def trailers = @complete ? @exchange.trailers : [].freeze
        def early_hints = @exchange.early_hints
        def complete? = @complete
        def streamed? = @exchange.streaming?
        def length_unknown? = head.framing == :close
        def body_begun? = @exchange.body_begun?
        def timings = @exchange.timings.to_a
        def began = @exchange.began
        def attempts = @exchange.attempt_rows

        def connection
          x = @exchange
          used = x.used
          { id: used ? used.id : 0, reused: used ? used.reused : false, age: used&.age, address: x.address,
            tls_version: used&.tls_version, cipher: used&.cipher }
        end

        # Runs the exchange until the head of a streamed response has arrived, else to its end.
        # @return [self]
        def begin
          guarded do
            result = Driving.run(@exchange)
            raise @exchange.error if result == :failed && !@exchange.data?

            conclude if result == :done && !@exchange.data?
          end
          watch_for_drop
          self
        end

        # Ensures that a connection is open.
        # @return [self]
        def connect
          guarded { raise @exchange.error if Driving.run(@exchange) == :failed }
          @body = ""
          self
        end

        # @param into [String, nil] receives the piece
        # @return [String, nil] the next piece of a streamed body; nil at the end. After a failure each further read
        #   raises, so that a part of the body is not taken for the whole
        def read(into = nil)
          return if @complete
          raise @exchange.error if ended?

          guarded { next_piece(into) }
        end

        # See Exchange#keep_rest and Exchange#limit_to.
        def keep_rest = live? && @exchange.keep_rest
        def settle_within(seconds) = live? && @exchange.limit_to(seconds)

        # @return [Boolean] whether more of the response may arrive
        def live? = !@complete && !ended?

        def close
          refuse_busy
          finish
          nil
        end

        # @param call_site [String] file and line of the call in the program, for a warning
        def note_call_site(call_site)
          Dropped.note(@exchange, call_site) if live?
        end

        # ---- for Multi ----

        # While busy is true, no other caller may read or close the response.
        def busy=(busy)
          @busy = busy
          watch_for_drop unless busy
        end

        # Stores the results of a complete exchange.
        def conclude
          x = @exchange
          @body = x.take_body unless x.streaming?
          @switched = Switched.of(x) if x.request._upgrades?
          @complete = true
          x.timings.gvl = Ruby.now - x.began - x.timings.total
          finish
        end

        # Ends the exchange in any state.
        def finish
          @closed = true
          Dropped.unwatch(self, @exchange) if @exchange.streaming?
          Ruby.uninterruptible { @exchange.abort } unless @exchange.settled?
        end

        private

        def head = @exchange.head || NO_HEAD

        # After a failure an exchange may still have data, for a caller that reads in pieces.
        def ended? = @closed || (@exchange.state == :failed && !@exchange.data?)

        # The caller has the response now, and may drop it half read.
        def watch_for_drop
          Dropped.watch(self, @exchange) if @exchange.streaming? && head? && live?
        end

        def next_piece(into)
          x = @exchange
          result = Driving.run(x) unless x.ended?
          raise x.error if (result || x.state) == :failed && !x.data?

          piece = x.take_body(into) if x.data?
          return piece if x.data?

          conclude if x.state == :done
          finish if x.state == :failed # the piece was the last before the failure
          piece
        end

        def refuse_busy
          raise ThreadError, "the response is being read elsewhere" if @busy
        end

        def guarded
          refuse_busy
          begin
            @busy = true
            completed = false
            result = yield
            completed = true
            result
          ensure
            finish unless completed
            @busy = false
          end
        end
      end
    end
  end
end
