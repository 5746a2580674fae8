# frozen_string_literal: true

require "json"
require "zlib"

# The JSON protocol, with a CRC32 of the response that the SDK verifies, and a compressed response.
class DynamoDbSDK < SDK
  about "DynamoDB", gem: "aws-sdk-dynamodb", over: "Net::HTTP", common: true

  ITEM = { id: { S: "1" }, count: { N: "7" }, tags: { SS: %w[a b] }, raw: { B: "AAEC" } }.freeze

  def respond(request)
    case request["x-amz-target"]
    when /GetItem/ then said({ Item: ITEM })
    when /PutItem/ then said({})
    when /Query/ then said({ Items: [ITEM] * 50, Count: 50, ScannedCount: 50 })
    else
      said({ __type: "com.amazonaws.dynamodb.v20120810#ResourceNotFoundException", message: "no table" },
           "400 Bad Request")
    end
  end

  def call
    require "aws-sdk-dynamodb"
    table = Aws::DynamoDB::Client.new(endpoint: url, region: "eu-west-1", access_key_id: "a", secret_access_key: "b",
                                      retry_limit: 0)
    record("put") { table.put_item(table_name: "t", item: { "id" => "1", "count" => 7 }).to_h }
    record("get") { shown(table.get_item(table_name: "t", key: { "id" => "1" }).item) }
    record("query") do
      table.query(table_name: "t", key_condition_expression: "id = :i", expression_attribute_values: { ":i" => "1" })
        .items.map { |item| shown(item) }
    end
    record("missing") { table.describe_table(table_name: "none") }
  end

  private

  def shown(item) = item.transform_values { |value| value.respond_to?(:read) ? value.read.unpack1("H*") : value.to_s }

  def said(value, status = "200 OK")
    body = JSON.generate(value)
    response_bytes(body, status: status, "Content-Type" => "application/x-amz-json-1.0", "x-amzn-RequestId" => "1",
                         "x-amz-crc32" => Zlib.crc32(body))
  end
end
