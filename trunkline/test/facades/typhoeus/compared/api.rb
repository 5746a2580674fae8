# frozen_string_literal: true

# Lists the public methods of Typhoeus and its classes.
module API
  MODULE = (Module.new.methods + Class.new.methods).freeze

  # @param scope [Module]
  # @return [Array<String>] such as "Typhoeus::Hydra#run" and "Typhoeus::Hydra.hydra", of the scope and the classes and
  #   modules within it
  def self.methods(scope, seen = [])
    return [] if seen.include?(scope)

    seen << scope
    inner = scope.constants.map { |name| scope.const_get(name) }
    own(scope) + inner.grep(Module).select { |one| one.name&.start_with?("Typhoeus::") }
      .flat_map { |one| methods(one, seen) }
  end

  # A module's instance methods are found in the classes that include it.
  def self.own(scope)
    instance = scope.is_a?(Class) ? scope.public_instance_methods - Object.public_instance_methods : []
    (scope.methods - MODULE).map { |name| "#{scope}.#{name}" } + instance.map { |name| "#{scope}##{name}" }
  end
  private_class_method :own
end
