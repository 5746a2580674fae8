# frozen_string_literal: true

require_relative "../test_helper"
require "trunkline/insight"
require "trunkline/stubs"
require_relative "../support/signatures"

# Every method in the signatures (sig/) exists, and the methods that users call most have a signature.
class TestSignatures < TrunklineTest
  FOLDER = File.expand_path("../../sig", __dir__)
  # All public methods of these classes are for users, except those of Ruby's own protocols.
  USERS = [Trunkline::Async, Trunkline::Cache::Memory, Trunkline::CookieJar, Trunkline::Links, Trunkline::Part,
           Trunkline::ServerSentEvent, Trunkline::WebSocket::Socket, Trunkline::Insight::Report].freeze

  def setup
    super
    @environment = Signatures.environment(FOLDER)
  rescue LoadError
    skip "no rbs here (gemfiles/bulk.rb)"
  end

  # The classes that are loaded: those of the Faraday adapter and of the Typhoeus facade need their libraries.
  def loaded(declared)
    declared.keys.filter_map do |name|
      [name, Object.const_get(name.to_s)] if name.to_s.start_with?("::Trunkline") && Object.const_defined?(name.to_s)
    end
  end

  def test_each_signature_names_a_method
    known = RBS::DefinitionBuilder.new(env: @environment)
    types = loaded(@environment.class_decls)
    assert_operator types.size, :>, 60
    types.each do |name, type|
      there = type.instance_methods + type.private_instance_methods
      declared = known.build_instance(name).methods.select { |_, method| method.defined_in == name }.keys
      assert_empty declared - there, name
    end
  end

  def test_public_methods_have_a_signature
    known = RBS::DefinitionBuilder.new(env: @environment)
    USERS.each do |type|
      declared = known.build_instance(RBS::TypeName.parse("::#{type.name}")).methods.keys
      assert_empty type.public_instance_methods(false).grep_v(/\A_/) - declared, type
    end
  end
end
