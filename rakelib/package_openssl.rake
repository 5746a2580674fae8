# frozen_string_literal: true

# The tests that use Ruby's OpenSSL and the engine's in one process.
TWO_OPENSSLS_TESTS = %w[transport/test_tls.rb facades/net_http/test_tls.rb facades/faraday/test_tls.rb].freeze

# Copies the system's OpenSSL as static archives into a separate folder: an extension linked with these has the same
# version at another address. A shared copy would not do, since a second libssl.so of the same name is never loaded.
def copy_openssl(folder)
  mkdir_p ["#{folder}/lib", "#{folder}/include"], verbose: false
  directory = ->(variable) { `pkg-config --variable=#{variable} libcrypto`.strip }
  cp Dir["#{directory.call("libdir")}/lib{ssl,crypto}.a"], "#{folder}/lib", verbose: false
  includes = [directory.call("includedir"), "#{directory.call("includedir")}/#{RbConfig::CONFIG["arch"]}"]
  includes.each { |path| cp_r Dir["#{path}/openssl"], "#{folder}/include", verbose: false }
end

# Runs a test with the extension in `folder`, under the name by which lib/ requires it. `first` is required first.
def run_with_extension(folder, test, first)
  program = "require 'bundler/setup'; $LOAD_PATH.unshift(#{folder.dump}); " \
            "require #{first.dump}; require 'trunkline'; " \
            "loaded = $LOADED_FEATURES.include?(#{"#{folder}/trunkline/trunkline.so".dump}); " \
            "abort 'another extension was loaded' unless loaded; load #{"#{ROOT}/trunkline/test/#{test}".dump}"
  sh({ "RUBYOPT" => nil }, RbConfig.ruby, "-I#{ROOT}/trunkline/test", "-e", program, verbose: false)
end

namespace :package do
  desc "The TLS tests with two copies of OpenSSL in one process: Ruby's, and one named by --with-openssl-dir"
  task :two_openssls do
    require "etc"
    require "tmpdir"
    Dir.mktmpdir("trunkline-openssl-") do |folder|
      copy_openssl("#{folder}/openssl")
      mkdir_p ["#{folder}/build", "#{folder}/trunkline"], verbose: false
      extconf = "#{ROOT}/trunkline/ext/trunkline/extconf.rb"
      sh RbConfig.ruby, extconf, "--with-openssl-dir=#{folder}/openssl",
         "--with-dldflags=-Wl,--exclude-libs,ALL,-Bsymbolic", chdir: "#{folder}/build", out: File::NULL, verbose: false
      sh "make", "--silent", "-j#{Etc.nprocessors}", chdir: "#{folder}/build", out: File::NULL, verbose: false
      abort "libcrypto is not inside" if `ldd #{folder}/build/trunkline.so`.include?("libcrypto")
      cp "#{folder}/build/trunkline.so", "#{folder}/trunkline/", verbose: false
      TWO_OPENSSLS_TESTS.each { |test| run_with_extension(folder, test, "trunkline") }
      run_with_extension(folder, TWO_OPENSSLS_TESTS.first, "openssl")
    end
  end
end
