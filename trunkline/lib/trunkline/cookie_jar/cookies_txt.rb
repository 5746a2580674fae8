# frozen_string_literal: true

require_relative "../atomic_file"
require_relative "../errors"

module Trunkline
  class CookieJar
    # Netscape's cookies.txt format, which curl, wget and browser exports use: seven tab-separated fields per line. An
    # expiry of 0 marks a session cookie.
    #
    # @api private
    module CookiesTxt
      HEADER = "# Netscape HTTP Cookie File"
      KNOWN_HEADER = /\A# (?:Netscape )?HTTP Cookie File\b/
      HTTP_ONLY = "#HttpOnly_"
      # The fields: domain, whether subdomains receive the cookie, path, whether it is for https only, expiry, name,
      # value.
      LINE = /\A([^\t]+)\t(TRUE|FALSE)\t([^\t]+)\t(TRUE|FALSE)\t(\d{1,18})\t([^\t]+)\t([^\t]*)\z/
      private_constant :HEADER, :KNOWN_HEADER, :HTTP_ONLY, :LINE

      module_function

      # @param path [String]
      # @param cookies [Array<HTTP::Cookie>]
      def write(path, cookies)
        AtomicFile.write(path, HEADER, "\n", *cookies.map { |cookie| line(cookie) })
      end

      # @param path [String]
      # @return [Array<HTTP::Cookie>]
      # @raise [InvalidRequest] for a file in another format or with a malformed line; the message quotes no line
      # @raise [SystemCallError]
      def read(path)
        lines = File.binread(path).lines(chomp: true)
        unless KNOWN_HEADER.match?(lines.first.to_s)
          raise InvalidRequest, "cookies: #{path.inspect} is no file of cookies: its first line must be " \
                                "#{HEADER.inspect}"
        end

        lines.each_with_index.filter_map { |text, index| cookie(text) { refuse(path, index + 1) } }
      end

      def line(cookie)
        [(HTTP_ONLY if cookie.httponly?).to_s + cookie.dot_domain, flag(cookie.for_domain?), cookie.path,
         flag(cookie.secure?), cookie.expires.to_i.to_s, cookie.name, cookie.value].map(&:b).join("\t") << "\n"
      end

      def flag(value) = value ? "TRUE" : "FALSE"

      # @return [HTTP::Cookie, nil] nil for a comment and an empty line
      def cookie(text)
        http_only = text.start_with?(HTTP_ONLY)
        text = text.delete_prefix(HTTP_ONLY)
        return if !http_only && (text.strip.empty? || text.start_with?("#"))

        match = LINE.match(text) or yield
        domain, subdomains, path, secure, expires, name, value = match.captures
        HTTP::Cookie.new(name, value, domain: domain.delete_prefix("."), for_domain: subdomains == "TRUE", path: path,
                                      secure: secure == "TRUE", httponly: http_only,
                                      expires: (Time.at(expires.to_i) unless expires.to_i.zero?))
      rescue ArgumentError => error
        error.is_a?(InvalidRequest) ? raise : yield
      end

      def refuse(path, number)
        raise InvalidRequest, "cookies: #{path.inspect}, line #{number}: must be seven fields with tabs between " \
                              "them, as in cookies.txt; the line is not shown"
      end

      private_class_method :line, :flag, :cookie, :refuse
    end
  end
end
