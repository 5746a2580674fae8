# frozen_string_literal: true

require_relative "chroot"

# A Debian release with its JRuby, and with the gems that the suite of trunkline needs.
class JRubyChroot < Chroot
  # The servers of the tests, and the tools with which the tests inspect the system.
  SERVERS = %w[nginx libnginx-mod-http-echo nghttp2-proxy openssl netbase procps python3-httpbin squid tinyproxy
               microsocks redis-server memcached iproute2 chromium curl].freeze
  PACKAGES = ["build-essential", "jruby", *SERVERS].join(" ").freeze
  BUNDLE = "BUNDLE_GEMFILE=$PWD/gemfiles/jruby.gemfile BUNDLE_PATH=/var/cache/trunkline-gems JARS_SKIP=true"
  # A file of tests is over before the better compiler has paid for itself.
  QUICK = "JRUBY_OPTS='-J-XX:TieredStopAtLevel=1'"

  # Installs the checkout and the gems of the suite.
  def prepare(checkout)
    build
    install_ruby(path) # packages added to the list after the chroot was built
    copy_checkout(checkout)
    # Removes the lock file: an older Bundler cannot use the lock file of a newer one.
    run("rm -f gemfiles/jruby.gemfile.lock && #{BUNDLE} jruby -S bundle install --quiet")
  end

  # @param arguments [String] JRuby's arguments, for a shell
  # @param seconds [Integer] after which JRuby is killed
  # @return [Boolean] whether it succeeded
  def jruby(arguments, seconds:, settings: QUICK)
    limit = "timeout --kill-after 5 #{seconds}"
    run("#{BUNDLE} RUBYOPT=-rbundler/setup #{settings} #{limit} jruby #{arguments}", exception: false)
  end

  private

  def install_ruby(root)
    install = "apt-get update && apt-get install --yes --no-install-recommends #{PACKAGES}"
    # Services must not start when their packages are installed: the tests start their own.
    run("install --mode 755 /dev/stdin /usr/sbin/policy-rc.d <<< $'#!/bin/sh\\nexit 101'", root: root)
    write_command(File.join(root, "usr/local/bin/bundle"), "exec jruby -S bundle \"$@\"") # called by tests
    run("dpkg-query --show #{PACKAGES} >/dev/null 2>&1 || { #{install}; }", root: root)
  end
end
