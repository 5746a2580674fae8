# frozen_string_literal: true

require "ipaddr"
require "openssl"

module Trunkline
  module Engine
    module Ruby
      # Messages for OpenSSL's errors and certificates; and the rule for names (RFC 9110 4.3.4): only subject
      # alternative names count, and a wildcard must be the whole first label.
      module TLSMessages
        ALERTS = {
          "handshake failure" => "40, handshake failure: nothing in common, or a client certificate is wanted",
          "bad certificate" => "42, bad certificate: it did not accept the client certificate",
          "unsupported certificate" => "43, unsupported certificate: it did not accept the client certificate",
          "certificate revoked" => "44, certificate revoked: it did not accept the client certificate",
          "certificate expired" => "45, certificate expired: it did not accept the client certificate",
          "certificate unknown" => "46, certificate unknown: it did not accept the client certificate",
          "unknown ca" => "48, unknown CA: it does not know who issued the client certificate",
          "protocol version" => "70, protocol version: it speaks no TLS version that is allowed here",
          "internal error" => "80, internal error",
          "unrecognized name" => "112, unrecognized name: it does not know this host name",
          "certificate required" => "116, certificate required: it wants a client certificate",
          "no application protocol" => "120, no application protocol: it speaks none of those offered by ALPN"
        }.freeze
        UNEXPECTED_END = /unexpected eof|SYSCALL returned=5|SSL_connect SYSCALL|end of file reached/i
        RFC2253 = OpenSSL::X509::Name::RFC2253
        # V_ERR_...: CRL missing, signature failure, not yet valid, expired, CRL not yet valid, CRL expired, revoked.
        AFTER_NAMES = [3, 7, 9, 10, 11, 12, 23].freeze
        private_constant :ALERTS, :UNEXPECTED_END, :RFC2253, :AFTER_NAMES

        module_function

        # @param error [OpenSSL::SSL::SSLError]
        def unexpected_end?(error) = UNEXPECTED_END.match?(error.message)

        # @param error [OpenSSL::SSL::SSLError]
        # @return [String]
        def of(error)
          words = error.message.sub(/\A.*?state=[^:]*: /, "").sub(/\ASSL_\w+: /, "")
          alert = words[%r{(?:sslv3|tlsv1|tlsv13|ssl/tls) alert (.+?)(?: \(SSL alert number \d+\))?\z}, 1]
          alert ||= words[/\Atlsv1 (unrecognized name)/, 1]
          alert ||= words[/Received fatal alert: (\w+)/, 1]&.tr("_", " ") # Java's message
          return "the server sent alert #{ALERTS.fetch(alert, alert)}" if alert
          return "what came is not TLS (is it a port for plain HTTP?)" if words.include?("wrong version number")
          return "the server's TLS version is not allowed here" if words.include?("unsupported protocol")

          words
        end

        # @param code [Integer] OpenSSL::X509::V_ERR_...
        # @param authorities [String] the trusted CA certificates, in words
        # @param words [String] OpenSSL's message
        # @return [String]
        def certificate_error(code, depth, certificate, authorities, words)
          "#{subject(certificate)} (depth #{depth}): #{reason(code, certificate, authorities) || words}"
        end

        # @return [String]
        def mismatch(certificate, name, numeric)
          names = names(certificate).join(", ")
          names = "no name at all" if names.empty?
          names = "#{names[0, 100].sub(/, [^,]*\z/, "")}, ..." if names.bytesize > 104
          "#{subject(certificate)} (depth 0): it is for #{names}, not for #{"the address " if numeric}#{name}"
        end

        # @return [Boolean] whether OpenSSL detects the error only after it has checked the name
        def checked_after_names?(code) = AFTER_NAMES.include?(code)

        # @return [String] the name to verify: "api.test." is verified as "api.test", "fe80::1%eth0" as "fe80::1"
        def verified(name) = (name.include?(":") ? name.sub(/%.*/m, "") : name).chomp(".")

        # @return [Boolean]
        def named?(certificate, name, numeric)
          return address_named?(certificate, name) if numeric

          wanted = name.downcase
          alternatives(certificate, 2).any? { |pattern| name_fits?(wanted, pattern.downcase) }
        end

        def name_fits?(name, pattern)
          return name == pattern unless pattern.start_with?("*.")

          label, rest = name.split(".", 2)
          !label.to_s.empty? && rest == pattern[2..] && rest.include?(".")
        end

        def address_named?(certificate, name)
          wanted = IPAddr.new(name).hton
          alternatives(certificate, 7).include?(wanted)
        rescue IPAddr::Error
          false
        end

        # @return [Array<String>] values of the alternative names with this tag: 2 for names, 7 for addresses
        def alternatives(certificate, tag)
          extension = certificate.extensions.find { |one| one.oid == "subjectAltName" } or return []
          value = OpenSSL::ASN1.decode(extension.to_der).value.last.value # JRuby 9.4.8 has no value_der
          OpenSSL::ASN1.decode(value).value.select { |one| one.tag == tag }.map { |one| bytes_of(one) }
        rescue OpenSSL::ASN1::ASN1Error
          []
        end

        # A value with an implicit tag (RFC 5280 4.2.1.6) is an OCTET STRING in an Array on JRuby 9.4.8.
        def bytes_of(data)
          data.value.is_a?(Array) ? data.value.map(&:value).join : data.value
        end

        def names(certificate)
          names = alternatives(certificate, 2).map { |one| one.gsub(/[^\x21-\x7e]/n, "?") }
          names + alternatives(certificate, 7).filter_map do |one|
            IPAddr.new_ntoh(one).to_s if [4, 16].include?(one.bytesize)
          end
        end

        def subject(certificate) = certificate ? certificate.subject.to_s(RFC2253)[0, 79] : ""

        def reason(code, certificate, authorities)
          case code
          when 10 then "it has expired, on #{certificate.not_after.utc.strftime("%Y-%m-%d %H:%M:%S UTC")}"
          when 9 then "it is not valid before #{certificate.not_before.utc.strftime("%Y-%m-%d %H:%M:%S UTC")}"
          when 18, 19 then "it is self-signed and not in #{authorities}"
          when 2, 20, 21 then "its issuer #{certificate.issuer.to_s(RFC2253)[0, 79]} is not in #{authorities}"
          end
        end

        private_class_method :name_fits?, :address_named?, :names, :subject, :reason
      end
    end
  end
end
