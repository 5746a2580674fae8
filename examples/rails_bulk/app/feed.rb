# frozen_string_literal: true

# Something that is fetched again and again.
class Feed < ActiveRecord::Base
  # @param answer [Trunkline::Response, Trunkline::Error]
  # @param key [String] of the item: the same when it comes a second time, so that nothing is done twice
  def store(answer, key)
    return if refreshed_by == key
    return update!(error: answer.message, refreshed_by: key) if answer.is_a?(Trunkline::Error)

    changed = answer.status == 304 ? {} : { body: answer.body, etag: answer["etag"] }
    update!(status: answer.status, error: nil, refreshed_by: key, **changed)
  end
end
