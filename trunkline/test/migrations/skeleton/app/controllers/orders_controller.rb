# frozen_string_literal: true

class OrdersController < ActionController::API
  rescue_from(Catalog::NotFound) { head :not_found }
  rescue_from(Catalog::Slow) { head :gateway_timeout }
  rescue_from(Catalog::Unavailable) { head :bad_gateway }

  # Shows an order of four products.
  def show
    first = Integer(params[:id])
    products = Catalog.products((first..(first + 3)).to_a)
    render json: { id: first, names: products.map { |product| product["name"] } }
  end

  def create
    render json: Catalog.reserve(Integer(params[:product])), status: :created
  end
end
