# frozen_string_literal: true

# The methods that callers may call.
module API
  MODULE = (Module.new.methods + Class.new.methods).freeze

  # @param scope [Module]
  # @return [Array<String>] as "Typhoeus::Hydra#run" and "Typhoeus::Hydra.hydra", in it and in what it contains
  def self.methods(scope, seen = [])
    return [] if seen.include?(scope)

    seen << scope
    inner = scope.constants.map { |name| scope.const_get(name) }
    own(scope) + inner.grep(Module).select { |one| one.name&.start_with?("Typhoeus::") }
      .flat_map { |one| methods(one, seen) }
  end

  # What a module brings to instances is found in the classes that include it.
  def self.own(scope)
    instance = scope.is_a?(Class) ? scope.public_instance_methods - Object.public_instance_methods : []
    (scope.methods - MODULE).map { |name| "#{scope}.#{name}" } + instance.map { |name| "#{scope}##{name}" }
  end
  private_class_method :own
end
