# frozen_string_literal: true

require_relative "../support/unit_test"
require "trunkline/defaults"
require_relative "../../../rakelib/support/option_lists"

# The table of options, and the lists that are generated from it.
class TestOptionLists < UnitTest
  Options = Trunkline::Options
  Option = Options::Option

  OptionLists.new.files.each do |path, text|
    define_method(:"test_#{path}_is_as_rake_options_writes_it") do
      assert_equal text, File.read(File.join(OptionLists::ROOT, path))
    end
  end

  def test_a_new_option_is_in_every_list
    added = Option.new(:new_one, "Integer?", "seconds of it", check: :integer, compared: :never, allowed: 1..5,
                                                              default: 3)
    lists = OptionLists.new([*Options::TABLE.values, added]).files
    { "docs/options.md" => "| `new_one:` | Integer | 3 | seconds of it |",
      "trunkline/sig/trunkline.rbs" => "    ?new_one: Integer?",
      "trunkline/sig/trunkline/client.rbs" => "    attr_writer new_one: Integer?" }.each do |path, line|
      assert_includes lists.fetch(path), "#{line}\n"
    end
  end

  def test_an_option_of_a_client_states_whether_clients_with_other_values_share_responses
    error = assert_raises(ArgumentError) { Option.new(:new_one, "Integer?", "seconds of it", check: :integer) }
    assert_includes error.message, "new_one: compared:"
    assert_raises(ArgumentError) { Option.new(:new_one, "bool", "it", check: nil, set_by: :call, compared: :never) }
  end

  def test_each_option_can_be_set_where_the_table_allows_it
    kinds = Options::TABLE.each_value.group_by(&:set_by).transform_values { |options| options.map(&:name) }
    assert_equal %i[both call client many process], kinds.keys.sort
    assert_equal (kinds[:both] + kinds[:client]).sort, Options::NAMES.sort
    assert_equal kinds.values_at(:call, :many, :process),
                 [Options::CALL_ONLY, Options::BATCH_ONLY, Options::PROCESS_LIMITS]
    # A reader named raise would override Kernel#raise.
    Options::NAMES.each { |name| assert_respond_to Options.defaults, name == :raise ? :raises? : name }
    (Options::NAMES + Options::PROCESS_LIMITS).each { |name| assert_respond_to Trunkline::Defaults.new, :"#{name}=" }
  end

  def test_options_that_a_call_may_override
    assert_equal %i[headers params bearer basic follow early_hints body json form multipart progress template stream],
                 Options::PER_CALL
  end

  # Timeouts checks the timeout, and the encoders check the content.
  def test_every_option_but_timeout_and_content_has_a_check
    unchecked = Options::TABLE.each_value.reject { |option| checks?(option) }
    assert_equal %i[timeout body json form multipart], unchecked.map(&:name)
  end

  def test_options_that_accept_nil
    Options::TABLE.each_value.select(&:optional?).each { |option| assert_nil option.check(nil), option.name }
    %i[decode credential_headers replay http min_tls idle_timeout max_idle stream].each do |name|
      assert_refused("#{name}:") { Options.check(name, nil) }
    end
  end

  def test_defaults_are_values_that_the_checks_give
    { follow: false, expect: nil, busy_poll: nil, tcp_keepalive: true, tcp_user_timeout: nil, min_tls: "1.2",
      idle_timeout: 30, max_age: 300 }.each do |name, given|
      assert_equal Options::DEFAULTS[name], Options.check(name, given), name
    end
  end

  def test_only_what_may_be_a_credential_or_is_the_callers_object_is_hidden
    assert_equal %i[headers params bearer basic digest auth netrc early_hints use retry breaker rate hedge coalesce
                    cache cookies deprecations logger json_encoder json_decoder ca_store client_cert client_key
                    client_key_password],
                 Options::TABLE.each_value.select(&:hidden).map(&:name)
  end

  private

  # Every check rejects a plain Object.
  def checks?(option)
    !option.check(Object.new)
  rescue Trunkline::InvalidRequest
    true
  end
end
