# frozen_string_literal: true

# Starts a run, which jobs work off.
class RefreshesController < ActionController::API
  def create
    name = params.fetch(:name) { Time.current.strftime("%F %H:%M:%S") }
    render json: RefreshFeeds.start(name, on: :active_job).to_s.to_json, status: :accepted
  end
end
