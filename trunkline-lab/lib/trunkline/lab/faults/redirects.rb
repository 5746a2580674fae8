# frozen_string_literal: true

require_relative "fault"

module Trunkline
  module Lab
    module Faults
      # Redirects to targets that a client must not follow, or not with its credentials.
      module Redirects
        extend Group

        SECRET = { "Authorization" => "Bearer secret" }.freeze

        class << self
          def redirect(location) = response("", status: "302 Found", "Location" => location)

          # "/there" returns the credentials that it got; any other path redirects to it, at another host.
          def to_there(connection, host)
            request = connection.requests.last
            return redirect("#{origin(connection, host)}/there") unless request.target == "/there"

            response(request["Authorization"] || "no credentials")
          end

          private

          # The origin of the connection's server, with another host name.
          def origin(connection, host)
            "#{connection.tls? ? "https" : "http"}://#{host}:#{connection.tcp.local_address.ip_port}"
          end
        end

        group "Redirects"

        add :loop, "a redirect to itself", redirect("/"), follow: true
        add :to_file, "a redirect to `file:///etc/passwd`", redirect("file:///etc/passwd"), follow: true
        add :to_ftp, "a redirect to `ftp:`", redirect("ftp://127.0.0.1/"), follow: true
        add :to_nowhere, "a redirect to what is no URL", redirect("http://[::1"), follow: true
        add(:to_another_origin, "a redirect to another origin", body: "no credentials", follow: true,
                                                                headers: SECRET) do |connection|
          connection << to_there(connection, "localhost")
        end
        add(:with_userinfo, "a redirect with userinfo", body: "no credentials", follow: true) do |connection|
          connection << to_there(connection, "user:secret@127.0.0.1")
        end
        add :down_to_http, "a redirect from https to http, of a call with credentials",
            redirect("http://127.0.0.1:9/"), tls: true, follow: true, headers: SECRET,
                                             untried: "its target has no listener"
        add :to_metadata, "a redirect to the metadata service, with `egress:`", redirect("http://169.254.169.254/"),
            follow: true, untried: "its target is not on this machine"
      end
    end
  end
end
