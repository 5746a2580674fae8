# frozen_string_literal: true

# `require "typhoeus"` loads this file on JRuby, whose require does not look for a name in $LOADED_FEATURES.
