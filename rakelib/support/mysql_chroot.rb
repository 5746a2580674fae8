# frozen_string_literal: true

require_relative "chroot"

# Debian's unstable release with its MySQL. No stable release has MySQL, and it conflicts with the MariaDB that
# bin/setup installs, so the chroots of rake matrix do not have it.
class MySQLChroot < Chroot
  # Packages that are needed to compile the gems of the checkout and its extensions.
  LIBRARIES = %w[pkg-config libssl-dev zlib1g-dev libbrotli-dev libzstd-dev libnghttp2-dev libxml2-dev libyaml-dev
                 libffi-dev libcurl4-openssl-dev libpq-dev].freeze

  def initialize = super("mysql", release: "sid")

  private

  # The service must not start: the tests start their own server.
  def install_ruby(root)
    write_command(File.join(root, "usr/sbin/policy-rc.d"), "exit 101")
    super
    run("apt-get install --yes --no-install-recommends mysql-server #{LIBRARIES.join(" ")}", root: root)
  end
end
