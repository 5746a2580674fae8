# frozen_string_literal: true

module Trunkline
  module Facades
    module Typhoeus
      # Defined in full in options.rb.
      class Options
        # The names of Ethon's easy options, except those for which Options has a method.
        module Names
          # Second names that libcurl has for some options.
          ALIASES = {
            encoding: :accept_encoding, unix_socket: :unix_socket_path, sslcertpasswd: :keypasswd,
            sslkeypasswd: :keypasswd, post301: :postredir, pinned_public_key: :pinnedpublickey, rtspheader: :httpheader,
            ftp_ssl: :use_ssl, ftplistonly: :dirlistonly, ftpappend: :append, krb4level: :krblevel,
            server_response_timeout: :ftp_response_timeout
          }.freeze

          # Deprecated names, which work with a warning.
          RENAMED = {
            auth_method: :httpauth, connect_timeout: :connecttimeout, follow_location: :followlocation,
            max_redirects: :maxredirs, proxy_type: :proxytype, ssl_cacert: :cainfo, ssl_capath: :capath,
            ssl_cert: :sslcert, ssl_cert_type: :sslcerttype, ssl_key: :sslkey, ssl_key_password: :keypasswd,
            ssl_key_type: :sslkeytype, ssl_version: :sslversion
          }.freeze

          # Removed names that had the opposite meaning.
          CHANGED = {
            disable_ssl_host_verification: :ssl_verifyhost, disable_ssl_peer_verification: :ssl_verifypeer,
            proxy_auth_method: :proxyauth
          }.freeze

          REMOVED = %i[cache_key_basis cache_timeout user_agent].freeze

          # Options that change no response, and options that other parts of the facade read.
          IGNORED = %i[
            buffersize ca_cache_timeout dns_cache_timeout dns_shuffle_addresses egdsocket errorbuffer escape
            dns_use_global_cache filetime happy_eyeballs_timeout_ms httpget infilesize infilesize_large maxage_conn
            maxconnects maxlifetime_conn multipart nobody noprogress nosignal params_encoding pipewait post private
            put quick_exit random_file ssl_enable_alpn ssl_enable_npn ssl_falsestart ssl_sessionid_cache
            suppress_connect_headers tcp_fastopen tcp_keepcnt tcp_nodelay upkeep_interval_ms upload upload_buffersize
            url
          ].freeze

          # Options for protocols other than HTTP, which change nothing for HTTP in libcurl either.
          OTHER_PROTOCOLS = %i[
            accepttimeout_ms append dirlistonly ftp_account ftp_alternative_to_user ftp_create_missing_dirs
            ftp_filemethod ftp_response_timeout ftp_skip_pasv_ip ftp_ssl_ccc ftp_use_eprt ftp_use_epsv ftp_use_pret
            ftpport ftpsslauth krblevel login_options mail_auth mail_from mail_rcpt mail_rcpt_allowfails
            new_directory_perms new_file_perms proxy_transfer_mode rtsp_client_cseq rtsp_request rtsp_server_cseq
            rtsp_session_id rtsp_stream_uri rtsp_transport sasl_authzid sasl_ir server_response_timeout_ms
            ssh_auth_types ssh_compression ssh_host_public_key_md5 ssh_host_public_key_sha256 ssh_knownhosts
            ssh_private_keyfile ssh_public_keyfile tftp_blksize tftp_no_options transfertext use_ssl wildcardmatch
          ].freeze

          # Options that only libcurl supports: refused, unless their value is in NEUTRAL.
          LIBCURL_ONLY = %i[
            abstract_unix_socket address_scope altsvc altsvc_ctrl aws_sigv4 certinfo chunk_bgn_function
            chunk_data chunk_end_function closesocketdata closesocketfunction connect_only conv_from_network_function
            conv_from_utf8_function conv_to_network_function copypostfields crlf crlfile curlu debugdata debugfunction
            disallow_username_in_url dns_interface dns_local_ip4 dns_local_ip6 dns_servers
            doh_ssl_verifyhost doh_ssl_verifypeer doh_ssl_verifystatus doh_url ech file fnmatch_data fnmatch_function
            gssapi_delegation haproxy_client_ip haproxyprotocol header headerfunction headeropt hsts hsts_ctrl
            hstsreaddata hstsreadfunction hstswritedata hstswritefunction http09_allowed http200aliases
            http_transfer_decoding httppost httpproxytunnel httpsig_algorithm httpsig_headers httpsig_key
            httpsig_keyid ignore_content_length infile interleavedata interleavefunction ioctldata ioctlfunction
            ipresolve issuercert issuercert_blob keep_sending_on_error localport localportrange max_recv_speed_large
            max_send_speed_large mime_options mimepost opensocketdata opensocketfunction pinnedpublickey postfields
            postfieldsize postfieldsize_large postquote pre_proxy prequote prereqdata prereqfunction progressdata
            progressfunction proxy_cainfo proxy_cainfo_blob proxy_capath proxy_crlfile proxy_issuercert
            proxy_issuercert_blob proxy_keypasswd proxy_pinnedpublickey proxy_service_name proxy_ssl_cipher_list
            proxy_ssl_options proxy_ssl_verifyhost proxy_ssl_verifypeer proxy_sslcert proxy_sslcert_blob
            proxy_sslcerttype proxy_sslkey proxy_sslkey_blob proxy_sslkeytype proxy_sslversion proxy_tls13_ciphers
            proxy_tlsauth_password proxy_tlsauth_type proxy_tlsauth_username proxyheader quote readfunction
            request_target resolver_start_data resolver_start_function seekdata seekfunction service_name share
            sockoptdata sockoptfunction socks5_auth socks5_gssapi_nec socks5_gssapi_service ssh_hostkeydata
            ssh_hostkeyfunction ssh_keydata ssh_keyfunction ssl_ctx_data ssl_ctx_function ssl_ec_curves ssl_options
            ssl_signature_algorithms ssl_verifystatus sslengine sslengine_default stderr stream_depends
            stream_depends_e stream_weight telnetoptions timevalue_large tlsauth_password tlsauth_type
            tlsauth_username trailerdata trailerfunction transfer_encoding upload_flags writefunction writeheader
            ws_options xferinfodata xferinfofunction
          ].to_h { |name| [name, true] }.freeze

          # Values that switch an option off.
          NEUTRAL = [nil, false, 0, "", :none, :whatever].freeze
        end
      end
    end
  end
end
