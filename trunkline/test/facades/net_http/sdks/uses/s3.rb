# frozen_string_literal: true

require "digest"

# Put, get, ranges, streams both ways, multipart upload, listings, errors.
class S3SDK < SDK
  about "S3", gem: "aws-sdk-s3", over: "Net::HTTP", common: true

  LARGE = ("0123456789abcdef" * 65_536).freeze # 1 MiB
  XML = "application/xml"
  BUCKETS = "<ListAllMyBucketsResult><Buckets><Bucket><Name>one</Name></Bucket></Buckets></ListAllMyBucketsResult>"
  LISTING = "<ListBucketResult><Name>b</Name><IsTruncated>false</IsTruncated>" \
            "<Contents><Key>a/&#x1F600;.txt</Key><Size>3</Size></Contents></ListBucketResult>"

  def respond(request)
    path, query = request.target.split("?", 2)
    case [request.verb, path]
    in ["GET" | "HEAD", /missing/] then error
    in ["GET", "/"] then xml(BUCKETS)
    in ["GET", %r{\A/b/?\z}] then xml(LISTING)
    in ["GET" | "HEAD", _] then object(request)
    in ["PUT", _] then stored(request)
    in ["POST", _] then multipart(query)
    in ["DELETE", _] then "HTTP/1.1 204 No Content\r\nx-amz-request-id: 1\r\n\r\n"
    end
  end

  def call
    require "aws-sdk-s3"
    simple_calls
    streams
    record("multipart upload") { large_upload }
    record("wire trace") { traced }
  end

  private

  def xml(text, **fields) = response_bytes(text, "Content-Type" => XML, "x-amz-request-id" => "1", **fields)

  def error
    text = "<Error><Code>NoSuchKey</Code><Message>The specified key does not exist.</Message></Error>"
    response_bytes(text, status: "404 Not Found", "Content-Type" => XML, "x-amz-request-id" => "1")
  end

  def object(request)
    text = request.target.include?("large") ? LARGE : "stored"
    fields = { "ETag" => %("#{Digest::MD5.hexdigest(text)}"), "Content-Type" => "binary/octet-stream",
               "x-amz-meta-owner" => "me", "Last-Modified" => "Mon, 23 Nov 2026 00:00:00 GMT" }
    range = request["range"]&.match(/bytes=(\d+)-(\d+)/) or return response_bytes(text, **fields)

    first, last = range.captures.map(&:to_i)
    part = text[first..last]
    response_bytes(part, status: "206 Partial Content", **fields,
                         "Content-Range" => "bytes #{first}-#{first + part.size - 1}/#{text.size}")
  end

  def stored(request) = response_bytes("", "ETag" => %("#{request.body.bytesize}"), "x-amz-request-id" => "1")

  def multipart(query)
    case query
    when /\Auploads/ then xml("<InitiateMultipartUploadResult><UploadId>u1</UploadId></InitiateMultipartUploadResult>")
    when /uploadId/ then xml("<CompleteMultipartUploadResult><ETag>\"done\"</ETag></CompleteMultipartUploadResult>")
    when /delete/ then xml("<DeleteResult><Deleted><Key>a</Key></Deleted></DeleteResult>")
    end
  end

  def client(**options)
    Aws::S3::Client.new(endpoint: url, region: "eu-west-1", access_key_id: "a", secret_access_key: "b",
                        force_path_style: true, retry_limit: 0, **options)
  end

  def simple_calls
    s3 = client
    record("get") do
      s3.get_object(bucket: "b", key: "object").then do |found|
        [found.body.read, found.etag, found.metadata]
      end
    end
    record("put text") { s3.put_object(bucket: "b", key: "put object", body: "text").etag }
    record("put nothing") { s3.put_object(bucket: "b", key: "empty", body: "").etag }
    record("head") { s3.head_object(bucket: "b", key: "object").content_length }
    record("list buckets") { s3.list_buckets.buckets.map(&:name) }
    record("list objects") { s3.list_objects_v2(bucket: "b").contents.map { |found| [found.key, found.size] } }
    record("range") { s3.get_object(bucket: "b", key: "large", range: "bytes=10-19").body.read }
    record("missing") { s3.get_object(bucket: "b", key: "missing") }
    record("head of the missing") { s3.head_object(bucket: "b", key: "missing") }
    record("delete") { s3.delete_object(bucket: "b", key: "object").to_h }
    record("delete many") { s3.delete_objects(bucket: "b", delete: { objects: [{ key: "a" }] }).deleted.map(&:key) }
  end

  def streams
    s3 = client
    record("put a stream") { s3.put_object(bucket: "b", key: "stream", body: StringIO.new(LARGE)).etag }
    record("put a file") { upload(LARGE) { |file| s3.put_object(bucket: "b", key: "file", body: file).etag } }
    record("get by a block") do
      pieces = +""
      s3.get_object(bucket: "b", key: "large") { |piece| pieces << piece }
      Digest::MD5.hexdigest(pieces)
    end
    record("get to a file") do
      Tempfile.create { |file| s3.get_object(bucket: "b", key: "large", response_target: file.path) && File.size(file) }
    end
  end

  # Uses one thread, so that the number of connections is the same in every run.
  def large_upload
    upload(LARGE * 11) do |file|
      Aws::S3::TransferManager.new(client: client)
        .upload_file(file.path, bucket: "b", key: "upload", thread_count: 1,
                                multipart_threshold: 5 * 1024 * 1024)
    end
  end

  # The lines and fields that Net::HTTP's debug output shows as sent (<-) and received (->), without fields that differ
  # between runs.
  def traced
    log = StringIO.new
    client(http_wire_trace: true, logger: Logger.new(log)).get_object(bucket: "b", key: "object")
    log.string.scan(/(<-|->) "(.*)"/).flat_map { |way, text| text.split('\r\n').map { |line| "#{way} #{line}" } }
      .grep_v(/(Authorization|X-Amz-Date|Amz-Sdk-\S+|Connection|User-Agent):/i)
  end
end
