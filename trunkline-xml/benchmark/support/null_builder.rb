# frozen_string_literal: true

require_relative "../../../trunkline-lab/lib/trunkline/lab/limits/null_builder"

# The lab's builder that does nothing, compiled and loaded.
begin
  require Trunkline::Lab::Limits::NullBuilder.library
rescue Trunkline::Lab::Limits::Failed => error
  abort "the do-nothing builder does not compile: #{error.message}"
end
