# frozen_string_literal: true

require_relative "support/mysql_chroot"

namespace :bulk do
  desc "Bulk runs whose state is in MySQL, in a chroot of Debian sid (root)"
  task :mysql do
    chroot = MySQLChroot.new
    chroot.build
    chroot.copy_checkout(ROOT)
    chroot.run("mysqld --version && bundle install --quiet && " \
               "bundle exec rake bulk:test FILES=trunkline-bulk/test/test_state_mysql.rb")
  end
end
