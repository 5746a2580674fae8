# frozen_string_literal: true

require_relative "../../test_helper"
require_relative "gateway"

# Runs a class or a module of tests written for HTTP/1.1 once more over HTTP/2: their scripted servers get a gateway in
# front, and their clients speak only HTTP/2.
module OverHTTP2
  # @param tests [Class, Module] a class of tests, or a module of them
  # @param except [Regexp, nil] names of tests whose subject differs over HTTP/2
  def self.test_case(tests, except: nil)
    parent = tests.is_a?(Class) ? tests : TrunklineTest
    Class.new(parent) do
      include tests unless tests.is_a?(Class)
      include OverHTTP2

      public_instance_methods.grep(/\Atest_/).grep(except).each { |name| undef_method(name) } if except
    end
  end

  def serve(bytes = nil, tls: nil, handshake: true, **options, &block)
    scripted = block || options[:script]
    bytes ||= response_bytes
    origin = scripted ? ScriptedServer.new(**options, &block) : ScriptedServer.responding(bytes, **options)
    tls.alpn_select_cb ||= ->(_) { "h2" } if tls
    opened(HTTP2Gateway.new(origin, tls: tls, handshake: handshake))
  end

  def client(base = nil, **options) = super(base, http: :h2, **options)
end
