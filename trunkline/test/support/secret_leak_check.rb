# frozen_string_literal: true

require "pp"
require "yaml"

# Searches all text representations of an object for a credential.
module SecretLeakCheck
  CANARY = "c4n4ry"

  # The plain credential, and its base64 forms after any number of other bytes.
  FORMS = /c4n4ry|zRuNH|0bjRy|NG40c/

  def assert_hidden(*objects)
    objects.each do |object|
      refute_nil object
      written(object).each { |way, text| refute_match FORMS, text.b, "#{way} of #{object.class}" }
    end
  end

  # @return [Exception] the exception that the block raises
  def raised
    yield
    flunk "nothing was raised"
  rescue Minitest::Assertion
    raise
  rescue Exception => error # rubocop:disable Lint/RescueException -- of whatever class
    error
  end

  private

  # @return [Hash{Symbol => String}] the object's texts, by the way that made them
  def written(object)
    texts = { inspect: object.inspect, pp: object.pretty_inspect, Marshal: text_or_error { Marshal.dump(object) },
              YAML: text_or_error { YAML.dump(object) }, format: format("%p", object) }
    texts[:as_json] = object.as_json.to_s if object.respond_to?(:as_json) && !object.is_a?(Trunkline::URL)
    # to_s of a URL may contain credentials, since it is sent; every other text is for people.
    texts[:to_s] = object.to_s unless object.is_a?(Trunkline::URL)
    object.is_a?(Exception) ? texts.merge(of_exception(object)) : texts
  end

  def of_exception(error)
    texts = { message: error.message, full_message: error.full_message(highlight: false) }
    texts[:detailed_message] = error.detailed_message if error.respond_to?(:detailed_message)
    cause = error.cause
    cause ? texts.merge(written(cause).transform_keys { |way| :"cause_#{way}" }) : texts
  end

  # An object that cannot be serialised raises an error, whose text is checked instead.
  def text_or_error
    yield
  rescue TypeError => error
    error.full_message(highlight: false)
  end
end
