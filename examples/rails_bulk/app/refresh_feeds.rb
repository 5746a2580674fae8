# frozen_string_literal: true

# Fetches all feeds that have changed.
class RefreshFeeds < Trunkline::Bulk
  source  { Feed.all }
  request { |feed| { url: feed.url, headers: { "If-None-Match" => feed.etag }.compact } }
  options slice: 10, timeout: 10, retry: true, per_origin: 100
  result  { |feed, answer, key| feed.store(answer, key) }
end
