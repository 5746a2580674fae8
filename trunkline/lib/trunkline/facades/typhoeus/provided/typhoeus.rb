# frozen_string_literal: true

# What `require "typhoeus"` finds on JRuby, whose require does not look for a name in $LOADED_FEATURES.
