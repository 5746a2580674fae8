# frozen_string_literal: true

require "faraday"
require "trunkline/faraday"
require "trunkline/webmock"
require "faraday_specs_setup"

RSpec.describe Faraday::Adapter::Trunkline do
  features :request_body_on_query_methods, :reason_phrase_parse, :compression, :streaming, :parallel, :trace_method,
           :local_socket_binding

  it_behaves_like "an adapter"
end
