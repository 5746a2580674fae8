# frozen_string_literal: true

# For tests that also run over TLS.
module OverTLS
  def serve(bytes = nil, **options, &block)
    options.key?(:tls) ? super : serve_tls(bytes, **options, &block)
  end

  def client(base = nil, **options)
    super(base, ca_file: TestCA.ca_file, **options)
  end
end
