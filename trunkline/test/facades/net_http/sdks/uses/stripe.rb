# frozen_string_literal: true

require "json"

# TLS, forms, lists, idempotent POSTs, an upload, errors.
class StripeSDK < SDK
  about "Stripe", gem: "stripe", over: "Net::HTTP", common: true, tls: true

  CUSTOMER = { id: "cus_1", object: "customer", email: "a@b.test" }.freeze
  FIELDS = { "Request-Id" => "req_1", "Stripe-Version" => "2024-06-20" }.freeze

  # Parts of its log that differ between runs.
  VARYING = /\b(?:elapsed|log_timestamp|process_id|\w+_object_id)=\S+/

  def respond(request)
    case [request.verb, request.target[/\A[^?]*/]]
    in ["GET", "/v1/customers"]
      json_response({ object: "list", url: "/v1/customers", has_more: false, data: [CUSTOMER] }, **FIELDS)
    in ["GET" | "POST", "/v1/customers" | "/v1/customers/cus_1"] then json_response(CUSTOMER, **FIELDS)
    in ["DELETE", "/v1/customers/cus_1"] then json_response({ id: "cus_1", deleted: true }, **FIELDS)
    in ["POST", "/v1/files"] then json_response({ id: "file_1", object: "file", size: request.body.bytesize / 100 })
    in ["POST", "/v1/charges"] then failed("402 Payment Required", "card_error", "card_declined")
    in _ then failed("404 Not Found", "invalid_request_error", "resource_missing")
    end
  end

  def call
    require "stripe"
    client = client()
    record("retrieve") { client.v1.customers.retrieve("cus_1").email }
    record("create") { client.v1.customers.create({ email: "ä@b.test", metadata: { a: 1 } }).id }
    record("list") { client.v1.customers.list({ limit: 3 }).auto_paging_each.map(&:id) }
    record("delete") { client.v1.customers.delete("cus_1").deleted }
    record("declined") { client.v1.charges.create({ amount: 1 }) }
    record("missing") { client.v1.customers.retrieve("missing") }
    record("upload") { client.v1.files.create({ purpose: "logo", file: StringIO.new("x" * 1000) }).size }
    record("log") { logged { client.v1.customers.retrieve("cus_1") } }
  end

  private

  def failed(status, type, code)
    json_response({ error: { type: type, code: code, message: code } }, status: status, **FIELDS)
  end

  def logged
    log = StringIO.new
    Stripe.logger = Logger.new(log, level: Logger::DEBUG)
    yield
    log.string.scan(/-- : (.*)/).flatten.map { |line| line.gsub(VARYING, "") }
  ensure
    Stripe.logger = nil
  end

  def client
    Stripe.ca_bundle_path = ca_file
    Stripe.enable_telemetry = false
    Stripe.max_network_retries = 0
    Stripe::StripeClient.new("sk_test_1", api_base: url, uploads_base: url)
  end
end
