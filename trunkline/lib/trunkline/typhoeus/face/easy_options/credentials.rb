# frozen_string_literal: true

require_relative "../best_auth"

module Trunkline
  module TyphoeusFace
    class EasyOptions
      # Who we are: user and password by whatever scheme, tokens, netrc, cookies.
      module Credentials
        # What httpauth: may name, as far as it is spoken here.
        SCHEMES = {
          basic: %i[basic], digest: %i[digest], digest_ie: %i[digest], any: %i[digest basic],
          anysafe: %i[digest], auto: %i[digest basic]
        }.freeze
        # Where netrc: is to be read, and what it counts.
        NETRC = { ignored: nil, optional: :less, required: :more, false => nil, true => :less, 0 => nil }.freeze
        private_constant :SCHEMES, :NETRC

        # @return [Array(String, String), nil] user and password
        attr_reader :login
        # @return [Array<Symbol>] :basic, :digest: how they may be said
        attr_reader :schemes
        # @return [Hash, nil] cookiefile:, cookiejar:, cookielist:, cookiesession:, as they were given
        attr_reader :cookies

        private

        def option_userpwd(value)
          return if value.nil?

          user, password = value.to_s.split(":", 2)
          @login = [user.to_s, password.to_s]
        end

        # Read together.
        def option_username(_value); end
        def option_password(_value); end

        def option_httpauth(value)
          return if value.nil?

          names = Array(value).map { |name| name.to_s.to_sym }
          @schemes = names.flat_map { |name| SCHEMES.fetch(name, []) }.uniq
          foreign = @schemes.empty? && (names - %i[none bearer]).any?
          refuse(:httpauth, value, ":basic, :digest and :any") if foreign
        end

        def option_xoauth2_bearer(value)
          @lasting[:bearer] = value.to_s if value
        end

        def option_netrc(value)
          @netrc = value.nil? ? nil : NETRC.fetch(value) { refuse(:netrc, value, NETRC.keys.grep(Symbol).join(", ")) }
        end

        # Read together with netrc.
        def option_netrc_file(_value); end

        %i[cookiefile cookiejar cookielist cookiesession].each do |name|
          define_method(:"option_#{name}") do |value|
            (@cookies ||= {})[name] = value unless value.nil? || value == false
          end
        end

        # Only Basic can be said without having been asked.
        def settle_credentials
          @schemes ||= [:basic]
          @login ||= login_of_two
          settle_netrc if @netrc
          @lasting[:basic] = @login if @login && @schemes == [:basic] && !@lasting[:bearer]
          @cookies = nil if @cookies&.keys == [:cookiesession]
        end

        def settle_netrc
          @login = nil if @netrc == :more
          @lasting[:netrc] = @given[:netrc_file] || true if @login.nil?
        end

        def login_of_two
          user, password = %i[username password].map { |name| @given[name] || @given[name.to_s] }
          user && [user.to_s, password.to_s]
        end
      end
    end
  end
end
