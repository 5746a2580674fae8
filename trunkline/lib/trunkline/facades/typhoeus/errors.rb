# frozen_string_literal: true

require_relative "../../errors"

module Trunkline
  module Facades
    module Typhoeus
      # Maps errors to libcurl's return codes.
      module Errors
        # The first class that matches counts.
        RETURN_CODES = {
          TimeoutError => :operation_timedout,
          ResolveError => :couldnt_resolve_host,
          ConnectError => :couldnt_connect,
          EgressRefused => :couldnt_connect,
          BreakerOpen => :couldnt_connect,
          CertificateError => :peer_failed_verification,
          TLSError => :ssl_connect_error,
          ConnectionClosed => :got_nothing,
          ForkedConnection => :send_error,
          TruncatedBody => :partial_file,
          DecodeError => :bad_content_encoding,
          BodyTooLarge => :filesize_exceeded,
          HeadersTooLarge => :too_large,
          InvalidResponse => :ftp_weird_server_reply,
          UnsafeRedirect => :unsupported_protocol,
          RedirectError => :too_many_redirects,
          BodyError => :read_error,
          AuthError => :login_denied,
          ProxyError => :proxy,
          ConnectionError => :recv_error,
          InvalidRequest => :url_malformat
        }.freeze

        MESSAGES = {
          ok: "No error",
          unsupported_protocol: "Unsupported protocol",
          url_malformat: "URL using bad/illegal format or missing URL",
          couldnt_resolve_proxy: "Couldn't resolve proxy name",
          couldnt_resolve_host: "Couldn't resolve host name",
          couldnt_connect: "Couldn't connect to server",
          ftp_weird_server_reply: "Weird server reply",
          partial_file: "Transferred a partial file",
          http_returned_error: "HTTP response code said error",
          write_error: "Failed writing received data to disk/application",
          read_error: "Failed to open/read local data from file/application",
          operation_timedout: "Timeout was reached",
          ssl_connect_error: "SSL connect error",
          aborted_by_callback: "Operation was aborted by an application callback",
          too_many_redirects: "Number of redirects hit maximum amount",
          got_nothing: "Server returned nothing (no headers, no data)",
          send_error: "Failed sending data to the peer",
          recv_error: "Failure when receiving data from the peer",
          ssl_certproblem: "Problem with the local SSL certificate",
          peer_failed_verification: "SSL peer certificate or SSH remote key was not OK",
          bad_content_encoding: "Unrecognized or bad HTTP Content or Transfer-Encoding",
          login_denied: "Login denied",
          filesize_exceeded: "Maximum file size exceeded",
          ssl_cacert_badfile: "Problem with the SSL CA cert (path? access rights?)",
          proxy: "proxy handshake error",
          too_large: "A value or data field is larger than allowed"
        }.freeze

        module_function

        # @param error [Exception]
        # @return [Symbol]
        def return_code(error)
          RETURN_CODES.each { |kind, code| return code if error.is_a?(kind) }
          :recv_error
        end

        # @param code [Symbol, String] a return code
        # @return [String] libcurl's text for it
        def message(code)
          MESSAGES.fetch(code.to_sym, "Unknown error")
        end
      end
    end
  end
end
