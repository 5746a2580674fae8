# frozen_string_literal: true

module Bench
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
          session.timeout = session.connect_timeout = @timeout
        end
      end

      def fetch(session, path)
        response = session.get(path)
        body_of(response.status, response.body)
      end
    end
  end
end
