# frozen_string_literal: true

module Trunkline
  module Lab
    # What of a command line must not get into results, which people pass on.
    module Secrets
      URL = %r{(?<=://)[^/?#\s]*@}
      HEADER = /((?:authorization|cookie|key|token|secret|password)[\w-]*\s*):.+/mi
      HIDDEN = "[hidden]"

      # @return [String] the text without a URL's user and password, and without the value of such a header field
      def self.hide(text) = text.sub(URL, "#{HIDDEN}@").sub(HEADER, "\\1: #{HIDDEN}")
    end
  end
end
