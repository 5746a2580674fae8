# frozen_string_literal: true

module Trunkline
  module Insight
    # Watches the requests and the jobs of a Rails application. The middleware is installed in production as well, but
    # watches nothing while Insight.sample is 0.0.
    #
    # @api private
    class Railtie < ::Rails::Railtie
      initializer("trunkline.insight") do |app|
        app.middleware.use(Middleware)
        ActiveSupport.on_load(:active_job) do
          around_perform { |job, block| JobMiddleware.watch(job.class.name, &block) }
        end
      end
    end
  end
end
