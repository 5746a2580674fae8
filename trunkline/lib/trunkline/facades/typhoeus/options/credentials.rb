# frozen_string_literal: true

module Trunkline
  module Facades
    module Typhoeus
      class Options
        # Options for credentials: user and password, schemes, tokens, netrc, cookies.
        module Credentials
          # Values of httpauth:, and the schemes they allow.
          SCHEMES = {
            basic: %i[basic], digest: %i[digest], digest_ie: %i[digest], any: %i[digest basic],
            anysafe: %i[digest], auto: %i[digest basic]
          }.freeze
          # Values of netrc:, and whether the file is a fallback for userpwd: or overrides it.
          NETRC = {
            ignored: nil, optional: :fallback, required: :override, false => nil, true => :fallback, 0 => nil
          }.freeze
          private_constant :SCHEMES, :NETRC

          # @return [Array(String, String), nil] user and password
          attr_reader :login
          # @return [Array<Symbol>] :basic, :digest: allowed schemes
          attr_reader :schemes
          # @return [Hash, nil] cookiefile:, cookiejar:, cookielist:, cookiesession:, unchanged
          attr_reader :cookies

          private

          def option_userpwd(value)
            return if value.nil?

            user, password = value.to_s.split(":", 2)
            @login = [user.to_s, password.to_s]
          end

          # Read by login_of_two.
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
            @client_options[:bearer] = value.to_s if value
          end

          def option_netrc(value)
            @netrc = value.nil? ? nil : NETRC.fetch(value) { refuse(:netrc, value, NETRC.keys.grep(Symbol).join(", ")) }
          end

          # Read by complete_netrc.
          def option_netrc_file(_value); end

          %i[cookiefile cookiejar cookielist cookiesession].each do |name|
            define_method(:"option_#{name}") do |value|
              (@cookies ||= {})[name] = value unless value.nil? || value == false
            end
          end

          # Credentials are sent without a challenge only if Basic is the only allowed scheme.
          def complete_credentials
            @schemes ||= [:basic]
            @login ||= login_from_username
            complete_netrc if @netrc
            @client_options[:basic] = @login if @login && @schemes == [:basic] && !@client_options[:bearer]
            @cookies = nil if @cookies&.keys == [:cookiesession]
          end

          def complete_netrc
            @login = nil if @netrc == :override
            @client_options[:netrc] = @options[:netrc_file] || true if @login.nil?
          end

          def login_from_username
            user, password = %i[username password].map { |name| @options[name] || @options[name.to_s] }
            user && [user.to_s, password.to_s]
          end
        end
      end
    end
  end
end
