# frozen_string_literal: true

require_relative "../chroot"

# The chroot in which the extensions of the compiled gems are built: Debian 12, with compilers for both processors.
class Toolchain < Chroot
  SCRIPT = File.expand_path("toolchain.sh", __dir__)

  def initialize = super("native", release: "bookworm")

  # Compiles one extension for one target.
  #
  # @param extension [String] the extension's folder in the checkout: "trunkline/ext/trunkline"
  # @param target [NativeTarget]
  # @return [Array<String>] the shared objects, as paths on this machine
  def compile(extension, target)
    folder = "/build/#{target.name}/#{File.basename(extension)}"
    target.adopt(path)
    # The command starts in the checkout.
    run("rm -rf #{folder} && mkdir -p #{folder} && cd #{folder} && " \
        "TRUNKLINE_STATIC=1 ruby #{target.ruby_options.join(" ")} $OLDPWD/#{extension}/extconf.rb >extconf.log && " \
        "make --silent -j2 >make.log")
    Dir["#{path}#{folder}/*.so"].tap { |made| raise "#{folder} has no shared object" if made.empty? }
  end

  private

  # Installs the toolchain in place of a Ruby that would run the suite.
  def install_ruby(root)
    FileUtils.cp(SCRIPT, "#{root}/root/toolchain.sh")
    run("ARCHIVE=#{archive.chomp("/").shellescape} bash /root/toolchain.sh", root: root)
  end
end
