# frozen_string_literal: true

require_relative "test_helper"
require "minitest/mock"
require "open3"
require "trunkline/lab/environment"

module Trunkline
  module Lab
    class TestEnvironment < Minitest::Test
      # @yield [folder] a new checkout with one commit of one file
      def checkout
        skip "git is not installed" unless Processes.available?("git")
        Dir.mktmpdir do |folder|
          File.write(File.join(folder, "code.rb"), "1\n")
          git(folder, "init", "--quiet")
          git(folder, "add", "code.rb")
          git(folder, "-c", "user.name=x", "-c", "user.email=x@example.test", "commit", "--quiet", "-m", "one")
          yield folder
        end
      end

      def git(folder, *command)
        output, status = Open3.capture2e("git", "-C", folder, *command)

        assert_predicate status, :success?, output
        output.chomp
      end

      def test_commit_is_the_head_of_the_checkout
        checkout do |folder|
          assert_equal git(folder, "rev-parse", "--short", "HEAD"), Environment.commit(folder)
        end
      end

      def test_commit_names_uncommitted_changes_of_code
        checkout do |folder|
          File.write(File.join(folder, "page.md"), "new\n")

          refute_includes Environment.commit(folder), "+"
          File.write(File.join(folder, "code.rb"), "2\n")

          assert_equal "#{git(folder, "rev-parse", "--short", "HEAD")}+changes", Environment.commit(folder)
        end
      end

      def test_commit_is_nil_outside_of_a_checkout
        Dir.mktmpdir do |folder|
          assert_nil Environment.commit(folder)
          FileUtils.mkdir(File.join(folder, ".git"))

          assert_nil Environment.commit(folder)
        end
      end

      def test_commit_is_nil_without_git
        Dir.mktmpdir do |folder|
          FileUtils.mkdir(File.join(folder, ".git"))
          Open3.stub(:capture2, ->(*, **) { raise Errno::ENOENT, "git" }) { assert_nil Environment.commit(folder) }
        end
      end

      def test_sentence_has_the_commit
        environment = { date: "d", commit: "88d9a9b5", machine: {}, versions: { lab: "1" }, clients: {} }

        assert_match(/^lab 1; commit 88d9a9b5$/, Environment.sentence(environment))
        refute_match(/commit/, Environment.sentence(environment.merge(commit: nil)))
      end
    end
  end
end
