# frozen_string_literal: true

require_relative "../support/unit_test"
require "tempfile"
require "trunkline/options"

class TestNetrc < UnitTest
  Netrc = Trunkline::Netrc

  TEXT = <<~NETRC
    # machine commented.test login no password no
    machine api.test login robin password "two words \\"and\\" quotes"
    machine other.test
      login anna
      account ignored
      password secret # the rest is a comment to some
    macdef init
    machine macro.test login no password no

    machine api.test login second password second
    machine lonely.test login alone
    default login anonymous password guest
  NETRC

  def test_entries
    netrc = Netrc.new(TEXT)
    assert_equal ["robin", 'two words "and" quotes'], netrc.credentials("API.test")
    assert_equal %w[anna secret], netrc.credentials("other.test")
    assert_equal ["alone", ""], netrc.credentials("lonely.test")
    assert_equal %w[anonymous guest], netrc.credentials("macro.test")
    assert_equal %w[anonymous guest], netrc.credentials("commented.test")
  end

  def test_a_macro_ends_at_an_empty_line
    text = "machine one.test login a password my-macdef b\r\nmacdef init\r\n  cd /pub\r\n\r\nmachine two.test login c"
    assert_equal %w[a my-macdef], Netrc.new(text).credentials("one.test")
    assert_equal ["c", ""], Netrc.new(text).credentials("two.test")
  end

  def test_no_entry
    assert_nil Netrc.new("").credentials("api.test")
    assert_nil Netrc.new("machine").credentials("api.test")
    assert_nil Netrc.new("machine api.test password x").credentials("api.test")
    assert_nil Netrc.new("login robin password secret").credentials("api.test")
  end

  # Dir.home raises this when the process' user ID belongs to no user.
  def test_a_user_without_a_home
    kept = ENV.delete("NETRC")
    Dir.singleton_class.alias_method(:kept_home, :home)
    Dir.define_singleton_method(:home) { raise ArgumentError, "couldn't find the home" }
    assert_nil Netrc.load(true).credentials("api.test")
  ensure
    Dir.singleton_class.remove_method(:home)
    Dir.singleton_class.alias_method(:home, :kept_home)
    Dir.singleton_class.remove_method(:kept_home)
    ENV["NETRC"] = kept
  end

  def test_files
    Tempfile.create("netrc") do |file|
      file.write(TEXT)
      file.flush
      assert_equal "robin", Trunkline::Options.check(:netrc, file.path).credentials("api.test").first
      refute_match(/robin|quotes/, Trunkline::Options.check(:netrc, file.path).inspect)
    end
    assert_nil Trunkline::Options.check(:netrc, false)
    assert_refused("netrc:", "/nowhere/netrc") { Trunkline::Options.check(:netrc, "/nowhere/netrc") }
  end
end
