# frozen_string_literal: true

require_relative "../../memo"
require_relative "../../options"
require_relative "../../redacted"
require_relative "../../request_builder"
require_relative "../../call_policy"
require_relative "../connections"
require_relative "../policies"
require_relative "best_auth"
require_relative "options"
require_relative "redirects"
require_relative "request_adapter"

module Trunkline
  module Facades
    module Typhoeus
      # Everything that requests with the same options share: the request adapter and the policies. Made once for each
      # set of options.
      class RequestConfig
        include Redacted

        # Options that differ from request to request, or do not change what is sent.
        PER_REQUEST = %i[params body set_read_callback cache cache_ttl].freeze
        CACHE_LIMIT = 256
        private_constant :PER_REQUEST, :CACHE_LIMIT

        @policies = {}.freeze
        @known = {}
        @limited = {}
        @connections = Connections.new

        class << self
          # @return [Connections] of all requests
          attr_reader :connections
          # @return [Hash{Symbol => Object}] checked policies of all requests
          attr_reader :policies

          # @return [void]
          def policies=(options)
            @policies = options
            @known = {}
            @limited = {}
          end

          # @param options [Hash] a request's options
          # @param connections [Integer] the maximum number of connections to a host
          # @return [RequestConfig]
          # @raise [Typhoeus::Errors::InvalidOption, ArgumentError]
          def of(options, connections = Connections::NO_LIMIT)
            RactorError.refuse
            key = PER_REQUEST.any? { |name| options.key?(name) } ? options.except(*PER_REQUEST) : options
            known = connections == Connections::NO_LIMIT ? @known : known_with(connections)
            known[key] || Memo.keep(known, CACHE_LIMIT, frozen_copy(key), new(key, connections))
          end

          private

          def known_with(connections)
            @limited[connections] || Memo.keep(@limited, CACHE_LIMIT, connections, {})
          end

          def frozen_copy(options)
            options.transform_values do |value|
              value.is_a?(Hash) || value.is_a?(Array) ? value.dup.freeze : value
            end.freeze
          end
        end

        # @return [Policy::Redirect, nil] nil when redirects are not followed
        attr_reader :redirect
        # @return [RequestBuilder]
        attr_reader :builder
        # @return [CallPolicy, nil] applies Typhoeus::Config.policies to each exchange
        attr_reader :policy

        def initialize(options, connections = Connections::NO_LIMIT)
          @options = Options.new(options)
          limits = { **Connections::UNLIMITED, max_connections_per_host: connections,
                                               **RequestConfig.policies.slice(:egress, :redact) }
          checked = Trunkline::Options.defaults.merge({ **limits, **@options.client_options })
          @total = checked.timeout.total
          @builder = make_builder(checked)
          @policy = exchange_policy(checked)
          @request_adapter = RequestAdapter.new(@options, @builder, multipart_builder(limits, checked))
          @redirect = make_redirect if @options.redirects
          @challenged = @options.schemes != [:basic]
          @signers = {}
        end

        # @return [Boolean] whether a status of 400 and more is a failure
        def fails_on_error? = @options.fails_on_error?
        def verbose? = @options.verbose?

        # @return [Integer, nil] the largest body that is accepted
        def maximum_bytes = @options.maximum_bytes

        # @return [Hash, nil] the options of Cookies
        def cookies = @options.cookies

        # @param policies [Array<#call>] called around each exchange
        # @param deprecations [Deprecations, nil]
        # @param probes [Array<Object>] observers of each exchange
        # @return [CallPolicy] returns a proxy's 407 as an ordinary response
        def policy_of(policies, deprecations = nil, probes = [].freeze)
          CallPolicy.new(@builder, chain: Policy::Chain.new(policies), total: @total, deprecations: deprecations,
                                   pass_proxy_407: true, probes: probes)
        end

        # @param request [Typhoeus::Request]
        # @param streaming [Boolean] whether the body of the response is read in chunks
        # @return [Trunkline::Request]
        # @raise [InvalidRequest]
        def build(request, streaming)
          @request_adapter.build(request, streaming)
        end

        # @return [Float, nil] monotonic seconds by which the call must end, including redirects and challenges
        def deadline
          Process.clock_gettime(Process::CLOCK_MONOTONIC) + @total if @total && (@redirect || @challenged)
        end

        # @param request [Typhoeus::Request]
        # @param http_request [Trunkline::Request] the request that is sent for it
        # @return [Policy::Auth, nil] answers challenges of the request's server
        def auth(request, http_request)
          return unless @challenged

          login = @options.login || @request_adapter.userinfo(request) or return
          signer = @signers[login] || Memo.keep(@signers, CACHE_LIMIT, login, BestAuth.new(*login, @options.schemes))
          Policy::Auth.new(signer, http_request.uri.origin, @builder)
        end

        private

        # @return [CallPolicy, nil]
        def exchange_policy(options)
          options = options.merge(RequestConfig.policies)
          policies = Policy::Chain.of(options, @builder).policies
          deprecations = options.deprecation_handler
          probes = options.probes
          policy_of(policies, deprecations, probes) if deprecations || !policies.empty? || !probes.empty?
        end

        def make_builder(checked)
          builder = @options.unrestricted_auth? ? Redirects::UnrestrictedBuilder : RequestBuilder
          builder.new(checked, nil, RequestConfig.connections.pool_handle.owner_id)
        end

        def make_redirect
          Redirects::Follower.new(@options.redirects, @builder, @options.post_redirects, @options.refers?)
        end

        # A multipart body sets the Content-Type itself, because it chooses the boundary.
        def multipart_builder(limits, checked)
          return @builder unless @options.names?("content-type")

          headers = @options.client_options[:headers].reject { |name, _| name.casecmp?("content-type") }
          others = Trunkline::Options.defaults.merge({ **limits, **@options.client_options, headers: headers })
          checked.headers == others.headers ? @builder : make_builder(others)
        end
      end
    end
  end
end
