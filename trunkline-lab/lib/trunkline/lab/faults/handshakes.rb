# frozen_string_literal: true

require_relative "fault"

module Trunkline
  module Lab
    module Faults
      # Faults in the TLS handshake, with the certificates of Identities.
      module Handshakes
        extend Group

        group "Handshakes"

        { self_signed: "a certificate that it has signed itself",
          unknown_authority: "a certificate of an unknown authority",
          missing_intermediate: "a certificate without the intermediate one",
          wrong_host: "a certificate for another host",
          common_name_only: "a certificate that names its host as common name alone",
          expired: "a certificate that has expired",
          not_yet_valid: "a certificate that is not valid yet",
          for_clients: "a certificate for clients",
          tls_1_0: "TLS 1.0 at most",
          tls_1_1: "TLS 1.1 at most" }.each do |name, does|
          add(name, does, place: :handshake, identity: name)
        end
      end
    end
  end
end
