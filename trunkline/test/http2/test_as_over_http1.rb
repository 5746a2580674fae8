# frozen_string_literal: true

require_relative "../support/http2/over_http2"
require_relative "../protocol/test_early_answers"
require_relative "../engine/test_fibers"
require_relative "../engine/test_fork"
require_relative "../engine/test_interrupts"
require_relative "../streams/test_each_event"
require_relative "../streams/test_event_source"
require_relative "../test_request_bodies"
require_relative "../test_streaming"
require_relative "../transport/test_timeouts"
%w[batch_tests future_tests stream_tests].each { |tests| require_relative "../support/#{tests}" }

# The same timeouts, phases, errors, interrupts, forks, fibers and batches as over HTTP/1.1, in the same tests. Left out
# are those whose subject is not the same over HTTP/2, for the reason that stands above them.

# Until there is a connection no protocol is spoken, and nobody waits for one of his own. A head comes whole. Who writes
# waits for a window (TestFlow).
CONNECTING = /in_connect|in_tls|test_connect|test_tls|queue/
TestTimeoutsOverHTTP2 =
  OverHTTP2.test_case(TestTimeouts, except: /#{CONNECTING}|read_(counts|inside)|test_write|test_fractions/)
TestInterruptsOverHTTP2 = OverHTTP2.test_case(TestInterrupts, except: CONNECTING)

# Programs of their own have clients of their own.
TestForkOverHTTP2 = OverHTTP2.test_case(TestFork, except: /module_functions|daemon/)

# nginx is another server; a stream that breaks is a StreamReset; a stream may be over before the callback raises.
TestEarlyAnswersOverHTTP2 =
  OverHTTP2.test_case(TestEarlyAnswers, except: /nginx|server_that_dies|error_in_the_hints_callback/)

# Memory and the collector do not know of protocols (TestFlow has a large answer); a stream that breaks is a
# StreamReset; two streams share a connection.
TestStreamingOverHTTP2 =
  OverHTTP2.test_case(TestStreaming, except: /memory|collect(or|ion)|truncated_stream|two_streams_at_once/)

# A stream that breaks is a StreamReset; the bytes are divided by frames.
TestEachEventOverHTTP2 = OverHTTP2.test_case(TestEachEvent, except: /breaks_off|divided/)
TestEventSourceOverHTTP2 = OverHTTP2.test_case(TestEventSource, except: /breaks_off|failures_are_repeated|sent_twice/)

# A gigabyte takes its time through frames in Ruby (TestFlow has one from nginx).
TestRequestBodiesOverHTTP2 = OverHTTP2.test_case(TestRequestBodies, except: /big_body/)

# All share one connection (TestMany, TestSharing).
TestFibersOverHTTP2 =
  OverHTTP2.test_case(TestFibersOfAsync, except: /thousand_fibers|share_a_client|for_a_place|in_the_queue/)

# When requests start does not depend on what they go out by.
TestBatchOverHTTP2 = OverHTTP2.test_case(BatchTests, except: /retry_after|rate_spreads|progress|host_that_hangs/)
TestBatchStreamsOverHTTP2 = OverHTTP2.test_case(StreamTests)
TestFutureOverHTTP2 = OverHTTP2.test_case(FutureTests)
