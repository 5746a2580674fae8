# frozen_string_literal: true

# The feeds, as JSON.
class FeedsController < ActionController::API
  def index = render(json: Feed.order(:id).as_json(only: %i[url status error body]))

  def create
    Feed.insert_all(params.require(:urls).map { |url| { url: url } })
    head :created
  end
end
