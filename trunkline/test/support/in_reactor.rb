# frozen_string_literal: true

require_relative "fibers"

# Makes a test class from a module of tests, each of which runs in a fiber of a reactor.
module InReactor
  def self.test_case(tests, &more)
    Class.new(TrunklineTest) do
      include tests

      tests.instance_methods.grep(/\Atest_/).each do |name|
        define_method(name) { Sync { super() } }
      end
      class_eval(&more) if more
    end
  end
end
