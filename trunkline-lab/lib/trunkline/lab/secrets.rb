# frozen_string_literal: true

module Trunkline
  module Lab
    # Hides the secrets of a command line in results, which people share.
    module Secrets
      URL = %r{(?<=://)[^/?#\s]*@}
      HEADER = /((?:authorization|cookie|key|token|secret|password)[\w-]*\s*):.+/mi
      HIDDEN = "[hidden]"

      # @return [String] the text without a URL's user and password, and without the values of credential header fields
      def self.hide(text) = text.sub(URL, "#{HIDDEN}@").sub(HEADER, "\\1: #{HIDDEN}")
    end
  end
end
