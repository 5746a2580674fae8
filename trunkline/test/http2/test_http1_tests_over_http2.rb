# frozen_string_literal: true

require_relative "../support/http2/over_http2"
require_relative "../protocol/test_early_responses"
require_relative "../engine/test_fibers"
require_relative "../engine/test_fork"
require_relative "../engine/test_interrupts"
require_relative "../streams/test_each_event"
require_relative "../streams/test_event_source"
require_relative "../test_request_bodies"
require_relative "../test_streaming"
require_relative "../transport/test_timeouts"
%w[batch_tests future_tests stream_tests].each { |tests| require_relative "../support/#{tests}" }

# Runs the tests of timeouts, phases, errors, interrupts, forks, fibers and batches over HTTP/2. Tests whose subject
# differs over HTTP/2 are left out, for the reason in the comment above each line.

# Left out: phases before the connection exists, which are the same; waiting for a connection, which is shared over
# HTTP/2; reading a head in parts, since it arrives whole; and write timeouts, since writing waits for a flow-control
# window (TestFlow).
CONNECTING = /in_connect|in_tls|test_connect|test_tls|queue/
TestTimeoutsOverHTTP2 =
  OverHTTP2.test_case(TestTimeouts, except: /#{CONNECTING}|read_(counts|inside)|test_write|test_fractions/)
TestInterruptsOverHTTP2 = OverHTTP2.test_case(TestInterrupts, except: CONNECTING)

# Left out: tests that run a separate program, which has a client of its own.
TestForkOverHTTP2 = OverHTTP2.test_case(TestFork, except: /module_functions|daemon/)

# Left out: nginx is another server; a broken stream raises StreamReset; a stream may end before the callback raises.
TestEarlyResponsesOverHTTP2 =
  OverHTTP2.test_case(TestEarlyResponses, except: /nginx|server_that_dies|error_in_the_hints_callback/)

# Left out: memory and garbage collection do not depend on the protocol (TestFlow has a large response); a broken stream
# raises StreamReset; two streams share a connection.
TestStreamingOverHTTP2 =
  OverHTTP2.test_case(TestStreaming, except: /memory|collect(or|ion)|truncated_stream|two_streams_at_once/)

# Left out: a broken stream raises StreamReset; the bytes are divided into frames.
TestEachEventOverHTTP2 = OverHTTP2.test_case(TestEachEvent, except: /breaks_off|divided/)
TestEventSourceOverHTTP2 = OverHTTP2.test_case(TestEventSource, except: /breaks_off|failures_are_repeated|sent_twice/)

# Left out: a gigabyte in frames made by Ruby takes too long (TestFlow has one from nginx).
TestRequestBodiesOverHTTP2 = OverHTTP2.test_case(TestRequestBodies, except: /big_body/)

# Left out: all calls share one connection (TestConcurrentCalls, TestSharing).
TestFibersOverHTTP2 =
  OverHTTP2.test_case(TestFibersOfAsync, except: /thousand_fibers|share_a_client|for_a_connection|in_the_queue/)

# Left out: the time at which requests start does not depend on the protocol.
TestBatchOverHTTP2 = OverHTTP2.test_case(BatchTests, except: /retry_after|rate_spreads|progress|host_that_hangs/)
TestBatchStreamsOverHTTP2 = OverHTTP2.test_case(StreamTests)
TestFutureOverHTTP2 = OverHTTP2.test_case(FutureTests)
