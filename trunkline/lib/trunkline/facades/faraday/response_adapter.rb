# frozen_string_literal: true

module Trunkline
  module Facades
    module Faraday
      # Converts a response as Faraday's other adapters do.
      module ResponseAdapter
        module_function

        # The body in the encoding that :net_http gives it: the charset of the Content-Type, if Ruby knows it; else
        # UTF-8 for ASCII that had no content coding, and binary for everything else.
        #
        # @param response [Response]
        # @return [String]
        def body(response)
          text = response.body
          named = text.encoding != Encoding::BINARY && /;\s*charset=/i.match?(response["content-type"])
          return text if named

          plain = text.ascii_only? && response["content-encoding"].nil?
          text.force_encoding(plain ? Encoding::UTF_8 : Encoding::BINARY)
        end
      end
    end
  end
end
