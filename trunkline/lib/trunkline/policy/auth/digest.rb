# frozen_string_literal: true

require "digest"
require "securerandom"
require_relative "../../comma_list"
require_relative "../../errors"
require_relative "../../lock"
require_relative "../../redacted"
require_relative "challenge"

module Trunkline
  module Policy
    class Auth
      # Digest authentication (RFC 7616): SHA-256 and MD5, and their -sess forms, with qop auth or without qop (RFC
      # 2069). The nonce of each origin is kept and counted, so that only the first call to it is challenged.
      class Digest
        include Redacted

        # In order of preference.
        ALGORITHMS = { "SHA-256" => ::Digest::SHA256, "MD5" => ::Digest::MD5 }.freeze
        # Names of parameters whose values are not quoted (RFC 7616 3.4).
        BARE = %w[algorithm qop nc userhash].freeze

        # The parameters that an origin's challenge has set. uses counts the requests signed with the nonce. proven is
        # true if the nonce came from the Authentication-Info of an accepted request.
        State = Struct.new(:realm, :nonce, :opaque, :algorithm, :session, :qop, :userhash, :uses, :proven,
                           keyword_init: true) { include Redacted }

        # @param user [String]
        # @param password [String]
        def initialize(user, password)
          @user = user.encode(Encoding::UTF_8).b
          @password = password.encode(Encoding::UTF_8).b
          @states = {}
          @lock = Lock.new
        end

        # @param request [Request]
        # @return [Hash, nil]
        def sign(request)
          state = @lock.synchronize do
            known = @states[request.uri.origin] or return
            known.uses += 1
            known.dup
          end
          { "Authorization" => authorization(state, request.method, request.uri.target, SecureRandom.hex(16)) }
        end

        # @param response [Response] a 401
        # @return [Boolean]
        # @raise [AuthError] for a challenge that cannot be answered
        def retry?(response)
          offered = Challenge.parse(response.headers.get_all("WWW-Authenticate"))
          offered.select! { |one| one.scheme == "digest" }
          return false if offered.empty?

          parameters = best(offered, response)
          origin = response.request.uri.origin
          @lock.synchronize do
            used = @states[origin]
            @states.delete(origin)
            return false if refused?(response, used, parameters)

            @states[origin] = state_of(parameters)
          end
          true
        end

        # Stores the nonce that the server wants next (RFC 7616 3.5), so that the next call is not challenged.
        #
        # @param response [Response] with a status other than 401
        def on_success(response)
          info = response.headers["Authentication-Info"] or return
          nonce = Challenge.parse(["Digest #{info}"]).first&.parameters&.fetch("nextnonce", nil)
          return if nonce.to_s.empty?

          @lock.synchronize do
            state = @states[response.request.uri.origin] or return
            state.nonce = nonce
            state.uses = 0
            state.proven = true
          end
        end

        # @api private
        # @return [String] the value of Authorization
        def authorization(state, method, target, cnonce)
          count = format("%08x", state.uses)
          response = response_of(state, "#{method}:#{target}", count, cnonce)
          fields = user_fields(state).merge(
            "realm" => state.realm, "uri" => target, "algorithm" => algorithm_name(state), "nonce" => state.nonce,
            "nc" => (count if state.qop), "cnonce" => (cnonce if state.qop || state.session), "qop" => state.qop,
            "response" => response, "opaque" => state.opaque, "userhash" => ("true" if state.userhash)
          )
          "Digest #{fields.compact.map { |name, value| "#{name}=#{BARE.include?(name) ? value : quote(value)}" }
                          .join(", ")}"
        end

        # @api private
        # @param parameters [Hash{String => String}] of a challenge
        # @return [State]
        def state_of(parameters)
          name, session = algorithm_of(parameters)
          State.new(realm: parameters["realm"], nonce: parameters["nonce"], opaque: parameters["opaque"],
                    algorithm: ALGORITHMS.fetch(name), session: session, qop: ("auth" if qop_of(parameters)),
                    userhash: parameters["userhash"]&.casecmp?("true"), uses: 0)
        end

        private

        def best(offered, response)
          known = offered.map(&:parameters).select { |one| ALGORITHMS.key?(algorithm_of(one).first) }
          parameters = known.min_by { |one| ALGORITHMS.keys.index(algorithm_of(one).first) }
          problem = parameters ? problem_of(parameters) : "of an unknown algorithm"
          return parameters unless problem

          response.close
          raise AuthError.about(response, "was answered 401 with a Digest challenge #{problem} (RFC 7616 3.3); the " \
                                          "request was not sent again")
        end

        def problem_of(parameters)
          return "without a nonce" if parameters["nonce"].to_s.empty?
          return "without a realm" unless parameters["realm"]

          qop = qop_of(parameters)
          "that allows qop #{qop} alone, not auth" if qop && CommaList.parse(qop).none? { |one| one.casecmp?("auth") }
        end

        # An empty qop counts as no qop.
        def qop_of(parameters)
          parameters["qop"] unless parameters["qop"].to_s.strip.empty?
        end

        # The name without -sess, and whether the name had that suffix.
        def algorithm_of(parameters)
          name = (parameters["algorithm"] || "MD5").upcase
          [name.delete_suffix("-SESS"), name.end_with?("-SESS")]
        end

        # Returns whether the server refused a signature with a valid nonce: the user or the password is wrong. The
        # nonce is read from the request that was sent, since other requests to the origin may have replaced it in the
        # meantime.
        def refused?(response, used, parameters)
          authorization = response.request.headers["Authorization"]
          return false unless authorization&.start_with?("Digest ")
          return false if parameters["stale"]&.casecmp?("true")

          sent = Challenge.parse([authorization]).first.parameters
          sent["nonce"] == parameters["nonce"] || !expired?(sent, used)
        end

        # Returns whether the nonce has expired, even if the server does not say stale=true: it was used before, or came
        # with an accepted request, and the server now asks for another one.
        def expired?(sent, used)
          return true if used&.proven && used.nonce == sent["nonce"]

          sent["nc"] ? sent["nc"].hex > 1 : !used.nil? && used.uses > 1
        end

        def response_of(state, request, count, cnonce)
          secret = digest_of(state, "#{@user}:#{state.realm}:#{@password}")
          secret = digest_of(state, "#{secret}:#{state.nonce}:#{cnonce}") if state.session
          middle = state.qop ? "#{state.nonce}:#{count}:#{cnonce}:#{state.qop}" : state.nonce
          digest_of(state, "#{secret}:#{middle}:#{digest_of(state, request)}")
        end

        def digest_of(state, text)
          state.algorithm.hexdigest(text)
        end

        def algorithm_name(state)
          "#{ALGORITHMS.key(state.algorithm)}#{"-sess" if state.session}"
        end

        # RFC 7616 3.4, 3.4.4
        def user_fields(state)
          return { "username" => digest_of(state, "#{@user}:#{state.realm}") } if state.userhash

          { "username" => @user }
        end

        def quote(text)
          "\"#{text.gsub(/["\\]/) { |special| "\\#{special}" }}\""
        end
      end
    end
  end
end
