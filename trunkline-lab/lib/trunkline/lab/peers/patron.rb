# frozen_string_literal: true

require_relative "../peer"

module Trunkline
  module Lab
    module Peers
      class Patron < Peer
        label "Patron"
        gems "patron" => ">= 0.13"

        private

        def open
          require "patron"
          ::Patron::Session.new.tap do |session|
            session.base_url = @base
            session.cacert = @ca_file if @ca_file
            session.insecure = @insecure
            session.timeout = session.connect_timeout = @timeout
            session.max_redirects = @follow ? 5 : 0
          end
        end

        def exchange(session, call)
          response = session.request(call.verb.downcase.to_sym, call.path, call.headers, data: call.body)
          [response.status, response.body.to_s]
        end
      end
    end
  end
end
