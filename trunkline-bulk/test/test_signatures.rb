# frozen_string_literal: true

require_relative "test_helper"
require "open3"
require_relative "../../trunkline/test/support/signatures"

# The signatures (sig/) of the public methods of the gem.
class TestSignatures < BulkTest
  FOLDERS = %w[../sig ../../trunkline/sig].map { |folder| File.expand_path(folder, __dir__) }.freeze
  # Methods that are public only for other parts of the gem.
  INTERNAL = %i[add_runner block configuration run_key runners settings].freeze

  def setup
    super
    @environment = Signatures.environment(*FOLDERS)
  rescue LoadError
    skip "no rbs here (gemfiles/bulk.rb)"
  end

  def type_name(name) = RBS::TypeName.parse("::#{name}")

  def test_each_public_method_has_one
    builder = RBS::DefinitionBuilder.new(env: @environment)
    bulk = builder.build_singleton(type_name("Trunkline::Bulk")).methods.keys
    actual = (Trunkline::Bulk.singleton_methods(false) + Trunkline::Bulk::Definition.instance_methods(false)) - INTERNAL
    assert_empty actual - bulk
    [Trunkline::Bulk::RunStatus, Trunkline::Bulk::RunStatus::Origin, Trunkline::Bulk::Configuration,
     Trunkline::Bulk::Web].each do |type|
      declared = builder.build_instance(type_name(type.name)).methods
      actual = type.instance_methods(false)
      actual = actual.grep_v(/=\z/) if type < Struct # they are frozen
      assert_empty actual - declared.keys, type
      declared = declared.select { |_, method| method.defined_in == type_name(type.name) }.keys
      assert_empty declared - type.instance_methods - type.private_instance_methods, type
    end
  end

  # rbs compares the arguments and results of calls with the signatures.
  def test_they_are_true
    server = serve
    code = <<~RUBY
      class Typed < Trunkline::Bulk
        source  { [#{server.url("/").inspect}, "http://bad host/", nil] }
        request { |url| url }
        result  { |*| nil }
        options slice: 2, timeout: 5, per_origin: 1_000
        flush   { nil }
      end
      Trunkline::Bulk.configure { |one| one.state = #{state.inspect} }
      status = Typed.start("run", progress: ->(now) { now.to_s })
      Trunkline::Bulk::RunStatus.instance_methods(false).each { |name| status.public_send(name) }
      puts Typed.failures("run").first.outcome
      %i[pause resume cancel retry_failed status].each { |name| Typed.public_send(name, :run) }
      Trunkline::Bulk::Web.call({ "REQUEST_METHOD" => "GET", "PATH_INFO" => "/runs.json" })
    RUBY
    variables = { "RBS_TEST_TARGET" => "Trunkline::Bulk,Trunkline::Bulk::*", "RBS_TEST_RAISE" => "true",
                  "RBS_TEST_LOGLEVEL" => "error",
                  "RBS_TEST_OPT" => [*Signatures::LIBRARIES.map { |name| "-r #{name}" }, *FOLDERS.map { "-I #{_1}" }].join(" ") }
    text, status = Open3.capture2e(variables, RbConfig.ruby, "-W0", *Programs::PATHS, "-rrbs/test/setup",
                                   "-rtrunkline/bulk", "-rtrunkline/bulk/web", "-e", code)
    assert_predicate status, :success?, text
    assert_equal "InvalidRequest\n", text
  end
end
