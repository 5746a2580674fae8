# frozen_string_literal: true

require "time"
require_relative "deadline"
require_relative "download/checksum"
require_relative "download/part"
require_relative "download/partial_file"
require_relative "download/representation"
require_relative "errors"
require_relative "redacted"
require_relative "transfer_progress"

module Trunkline
  # The result of Client#download. Frozen.
  #
  #   path      String, path of the file
  #   bytes     Integer, size of the file
  #   resumed   whether bytes were kept: of an earlier call, or from before a failure in this call
  #   changed   whether the file on the server had changed, so that the bytes kept before were discarded
  #   response  the last Response, without its body
  Downloaded = Struct.new(:path, :bytes, :resumed, :changed, :response, keyword_init: true) do
    alias_method :resumed?, :resumed
    alias_method :changed?, :changed

    def initialize(**)
      super
      freeze
    end
  end

  # Downloads one file. See Streams#download.
  #
  # @api private
  class Download
    include Redacted

    # Without a content coding the bytes are those of the representation, so that ranges of it can be requested.
    FIELDS = { "Accept-Encoding" => "identity" }.freeze
    # Maximum number of retries in a row without a new byte.
    MAX_RETRIES = 4
    # Seconds before the first retry, and the maximum; each further failure doubles them.
    BACKOFF = (0.2..5.0)
    # Size in bytes of the first range when several parts are wanted: its response has the total size and the validator.
    # The number of parts is limited so that they are not much smaller than this.
    FIRST_RANGE_BYTES = 1024 * 1024
    MAX_PARTS = 32
    # Seconds between two progress reports, and between two updates of the metadata while several parts are fetched.
    REPORT_INTERVAL = 0.1
    METADATA_INTERVAL = 0.25

    # Errors after which the rest is requested again, except those in PERMANENT_ERRORS.
    RESUMABLE_ERRORS = [ConnectionError, TimeoutError, TruncatedBody, StreamReset].freeze
    PERMANENT_ERRORS = [CertificateError, TotalTimeout].freeze
    OVERLOAD_STATUSES = [429, 500, 502, 503, 504].freeze

    # The file on the server is not the one that the bytes kept so far belong to.
    Changed = Class.new(StandardError)
    private_constant :Changed

    # @param request [#call] sends a GET with the given additional header fields, and returns its Response
    # @param url [String] absolute
    # @raise [InvalidRequest] for an invalid argument
    def initialize(request, url, to:, resume:, parts:, checksum:, progress:)
      @request = request
      @url = Digest::SHA256.hexdigest(url)
      @path = path_of(to)
      @resume = one_of("resume", resume, [true, false], "true or false")
      @wanted_parts = one_of("parts", parts, 1..MAX_PARTS, "a number of parts from 1 to #{MAX_PARTS}")
      @checksum = Checksum.of(checksum)
      @reporter = reporter_of(progress)
      @digests = {}
    end

    # @return [Downloaded]
    # @raise [Error, SystemCallError] see Streams#download
    def run
      PartialFile.check(@path)
      @file = PartialFile.new(@path)
      begin
        transfer
        verify
        bytes = @file.bytes
        report(true)
        @file.finish
      ensure
        @file.keep_or_remove
      end
      Downloaded.new(path: @path, bytes: bytes, resumed: @resumed || false, changed: @changed || false,
                     response: @response)
    end

    private

    def path_of(target)
      path = target.respond_to?(:to_path) ? target.to_path : target
      return path if path.is_a?(String) && !path.empty? && !path.include?("\0")

      raise InvalidRequest.of("to", target, "the path of a file")
    end

    def one_of(name, value, allowed, description)
      return value if allowed.include?(value) && !value.is_a?(Float)

      raise InvalidRequest.of(name, value, description)
    end

    def reporter_of(progress)
      known = [nil, false, true].include?(progress) || progress.respond_to?(:call)
      return TransferProgress::Reporter.for(progress) if known

      raise InvalidRequest.of("progress", progress, "true, false, or something that can be called")
    end

    # ---- the parts ----

    # A file that changes during the download is started anew once only: one that always changes would never be
    # complete.
    def transfer
      start_or_resume
      fetch_all
    rescue Changed
      raise DownloadError.about(@response, "was answered with another file again and again") if @changed

      @changed = true
      @resumed = false
      start_anew
      retry
    end

    def start_or_resume
      return if @parts # transfer runs again after Changed

      metadata = @file.metadata if @resume
      return start_anew unless metadata && metadata.url == @url && @file.bytes.positive?

      @parts = metadata.parts.map { |part| Part.new(*part) }
      # A single part is written in order, so the size of the file is the number of bytes that are complete.
      @parts.first.done = [@file.bytes, @parts.first.to].compact.min if @parts.one?
      @resumed = @parts.sum(&:done).positive?
    end

    def start_anew
      @file.start(nil)
      @parts = [Part.new(0, @wanted_parts > 1 ? FIRST_RANGE_BYTES : nil)]
    end

    def fetch_all
      fetch(@parts.first) if @parts.size == 1
      split if @parts.size == 1
      fetch_concurrently(@parts.reject(&:complete?))
      write_metadata
    end

    # The response to the first range has the total size.
    def split
      total = @file.metadata&.total
      done = @parts.first.position
      return if total.nil? || done >= total

      left = total - done
      count = [@wanted_parts, (left + FIRST_RANGE_BYTES - 1) / FIRST_RANGE_BYTES].min
      ends = (1..count).map { |number| done + (left * number / count) }
      @parts = [Part.new(0, done, done), *[done, *ends].each_cons(2).map { |from, to| Part.new(from, to) }]
      write_metadata
    end

    def fetch_concurrently(parts)
      return parts.each { |part| fetch(part) } if parts.size < 2

      threads = parts.map { |part| thread(part) }
      watch(threads)
    ensure
      stop(threads) if threads
    end

    def thread(part)
      Thread.new(&Deadline.wrap { fetch(part) }).tap { |thread| thread.report_on_exception = false }
    end

    # Does not join the threads, because that would raise their errors: #watch has raised the first one.
    def stop(threads)
      threads.each(&:kill)
      threads.each { |thread| sleep(0.001) while thread.alive? }
      write_metadata
    end

    def watch(threads)
      written_at = now
      until threads.empty?
        # Thread#join raises the error that ended the thread.
        ended = threads.find { |thread| thread.join(REPORT_INTERVAL / threads.size) }
        threads -= [ended]
        report(false)
        next if now - written_at < METADATA_INTERVAL

        write_metadata
        written_at = now
      end
    end

    # ---- one part ----

    def fetch(part)
      failures = 0
      until part.complete?
        before = part.done
        reason = attempt(part) or return
        failures = part.done > before ? 1 : failures + 1
        raise reason if failures > MAX_RETRIES || @file.metadata&.validator.nil?

        @resumed = true if part.position.positive?
        Trunkline.sleep([BACKOFF.begin * (2**(failures - 1)), BACKOFF.end].min)
      end
    end

    # @return [Error, nil] why the part is not complete; nil when it is
    def attempt(part)
      @response = response = @request.call(fields_of(part))
      accept(response, part)
      save(response, part) unless part.complete?
      part.end_here if part.to.nil?
      part.complete? ? nil : short(response, part)
    rescue *RESUMABLE_ERRORS => error
      PERMANENT_ERRORS.any? { |kind| error.is_a?(kind) } ? raise : error
    rescue StatusError => error
      OVERLOAD_STATUSES.include?(error.response.status) && part.position.positive? ? error : raise
    end

    def fields_of(part)
      validator = @file.metadata&.validator
      range = part.range
      { **(range ? { "Range" => range } : {}), **(range && validator ? { "If-Range" => validator } : {}) }
    end

    def accept(response, part)
      representation = Representation.new(response)
      case response.status
      when 200 then accept_whole(response, representation, part)
      when 206 then accept_part(response, representation, part)
      when 416 then nothing_left(response, representation, part)
      else refuse(response)
      end
    end

    # A server that responds with the whole file has a changed file (If-Range), or does not support ranges.
    def accept_whole(response, representation, part)
      if part.position.positive?
        response.close
        raise Changed
      end

      part.extend_to_end
      start_metadata(representation)
    end

    def accept_part(response, representation, part)
      metadata = @file.metadata
      raise_wrong_range(response, part) if representation.from != part.position
      if metadata&.validator && (representation.total != metadata.total)
        response.close
        raise Changed
      end
      start_metadata(representation) unless metadata
      part.end_at(representation.total) if representation.total
    end

    # A 416 (RFC 9110 15.5.17): there are no bytes from this position on, so the file is complete, or shorter than
    # before.
    def nothing_left(response, representation, part)
      response.close
      raise Changed unless representation.total == part.position

      part.end_here
    end

    # @param representation [Representation] first description of this file by the server
    def start_metadata(representation)
      @digests = representation.digests
      total = representation.total
      validator = representation.validator if representation.ranges?
      @file.write_metadata(PartialFile::Metadata.new(url: @url, validator: validator, total: total,
                                                     parts: @parts.map(&:to_a)))
    end

    def refuse(response)
      response.raise_for_status!
      response.close
      raise DownloadError.about(response, "was answered #{response.status}, and with no file")
    end

    def raise_wrong_range(response, part)
      response.close
      raise DownloadError.about(response, "was answered with #{response["content-range"].inspect} when " \
                                          "#{part.range} was asked for")
    end

    # @return [TruncatedBody]
    def short(response, part)
      TruncatedBody.about(response, "was answered with fewer bytes than #{part.range} has")
    end

    # ---- bytes ----

    def save(response, part)
      began = part.position
      before = part.done
      until part.complete?
        over = response._save(@file.fileno, began + response._saved, REPORT_INTERVAL)
        part.done = before + response._saved
        report(false) if @parts.size == 1
        break if over
      end
    rescue SystemCallError => error
      raise error.class, "#{@path}.part"
    ensure
      part.done = before + response._saved if response
      response&.close
    end

    def write_metadata
      metadata = @file.metadata
      @file.write_metadata(metadata.dup.tap { |newer| newer.parts = @parts.map(&:to_a) }) if metadata
    end

    def report(over)
      @reporter&.call(@parts.sum(&:done), @file.metadata&.total, over)
    end

    # ---- the whole ----

    def verify
      total = @file.metadata&.total
      raise_corrupt("has #{@file.bytes} bytes of #{total}") unless total.nil? || @file.bytes == total
      algorithm, digest = DigestField.strongest(@digests)
      check(Checksum.new(algorithm, digest), "the server") if algorithm
      check(@checksum, "checksum:") if @checksum
    end

    def check(checksum, source)
      other = checksum.mismatch(@file.io)
      raise_corrupt("has the #{checksum.algorithm} digest #{other}, and #{source} says #{checksum}") if other
    end

    # Wrong bytes are removed, so that no later call resumes from them.
    def raise_corrupt(fault)
      @file.remove
      raise DownloadError.about(@response, "was answered with a file that #{fault}; it was removed")
    end

    def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
  end
end
