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
    tell("multipart upload") { large_upload }
    tell("wire trace") { traced }
  end

  private

  def xml(text, **fields) = answer(text, "Content-Type" => XML, "x-amz-request-id" => "1", **fields)

  def error
    text = "<Error><Code>NoSuchKey</Code><Message>The specified key does not exist.</Message></Error>"
    answer(text, status: "404 Not Found", "Content-Type" => XML, "x-amz-request-id" => "1")
  end

  def object(request)
    text = request.target.include?("large") ? LARGE : "stored"
    fields = { "ETag" => %("#{Digest::MD5.hexdigest(text)}"), "Content-Type" => "binary/octet-stream",
               "x-amz-meta-owner" => "me", "Last-Modified" => "Mon, 23 Nov 2026 00:00:00 GMT" }
    range = request["range"]&.match(/bytes=(\d+)-(\d+)/) or return answer(text, **fields)

    first, last = range.captures.map(&:to_i)
    part = text[first..last]
    answer(part, status: "206 Partial Content", **fields,
                 "Content-Range" => "bytes #{first}-#{first + part.size - 1}/#{text.size}")
  end

  def stored(request) = answer("", "ETag" => %("#{request.body.bytesize}"), "x-amz-request-id" => "1")

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
    tell("get") do
      s3.get_object(bucket: "b", key: "object").then do |found|
        [found.body.read, found.etag, found.metadata]
      end
    end
    tell("put text") { s3.put_object(bucket: "b", key: "put object", body: "text").etag }
    tell("put nothing") { s3.put_object(bucket: "b", key: "empty", body: "").etag }
    tell("head") { s3.head_object(bucket: "b", key: "object").content_length }
    tell("list buckets") { s3.list_buckets.buckets.map(&:name) }
    tell("list objects") { s3.list_objects_v2(bucket: "b").contents.map { |found| [found.key, found.size] } }
    tell("range") { s3.get_object(bucket: "b", key: "large", range: "bytes=10-19").body.read }
    tell("missing") { s3.get_object(bucket: "b", key: "missing") }
    tell("head of the missing") { s3.head_object(bucket: "b", key: "missing") }
    tell("delete") { s3.delete_object(bucket: "b", key: "object").to_h }
    tell("delete many") { s3.delete_objects(bucket: "b", delete: { objects: [{ key: "a" }] }).deleted.map(&:key) }
  end

  def streams
    s3 = client
    tell("put a stream") { s3.put_object(bucket: "b", key: "stream", body: StringIO.new(LARGE)).etag }
    tell("put a file") { upload(LARGE) { |file| s3.put_object(bucket: "b", key: "file", body: file).etag } }
    tell("get by a block") do
      pieces = +""
      s3.get_object(bucket: "b", key: "large") { |piece| pieces << piece }
      Digest::MD5.hexdigest(pieces)
    end
    tell("get to a file") do
      Tempfile.create { |file| s3.get_object(bucket: "b", key: "large", response_target: file.path) && File.size(file) }
    end
  end

  # One thread, so that the number of connections is the same in every run.
  def large_upload
    upload(LARGE * 11) do |file|
      Aws::S3::TransferManager.new(client: client)
        .upload_file(file.path, bucket: "b", key: "upload", thread_count: 1,
                                multipart_threshold: 5 * 1024 * 1024)
    end
  end

  # The lines and fields that Net::HTTP's debug output shows as sent (<-) and received (->), without those that differ
  # from run to run.
  def traced
    log = StringIO.new
    client(http_wire_trace: true, logger: Logger.new(log)).get_object(bucket: "b", key: "object")
    log.string.scan(/(<-|->) "(.*)"/).flat_map { |way, text| text.split('\r\n').map { |line| "#{way} #{line}" } }
      .grep_v(/(Authorization|X-Amz-Date|Amz-Sdk-\S+|Connection|User-Agent):/i)
  end
end
