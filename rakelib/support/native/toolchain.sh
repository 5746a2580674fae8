#!/bin/bash
# Runs inside a fresh chroot of Debian 12: installs compilers for both processors, the engine's libraries as static
# archives, and the headers of each Ruby under /targets. ARCHIVE: the address of Debian's archive.
set -euo pipefail

triplets="x86_64-linux-gnu aarch64-linux-gnu"
install() { apt-get install --yes --quiet=2 --no-install-recommends "$@" >/dev/null; }

# Packages of other releases are unpacked and not installed: the chroot stays a Debian 12, whose glibc is the oldest
# that the compiled gems support.
sources() {
  cat >/etc/apt/sources.list.d/toolchain.list <<SOURCES
deb $ARCHIVE-security bookworm-security main
deb-src $ARCHIVE bookworm main
deb-src $ARCHIVE-security bookworm-security main
deb $ARCHIVE trixie main
deb $ARCHIVE experimental main
SOURCES
  echo 'APT::Default-Release "/^bookworm/";' >/etc/apt/apt.conf.d/98release
  dpkg --add-architecture arm64
  apt-get update --quiet=2
  install ubuntu-keyring
  local ubuntu="signed-by=/usr/share/keyrings/ubuntu-archive-keyring.gpg] http://archive.ubuntu.com/ubuntu"
  printf 'deb [arch=amd64 %s noble main universe\ndeb-src [%s noble main universe\n' "$ubuntu" "$ubuntu" \
    >/etc/apt/sources.list.d/noble.list
  apt-get update --quiet=2
}

compilers() {
  local libraries=() library
  for library in libssl-dev zlib1g-dev libnghttp2-dev libbrotli-dev libzstd-dev libxml2-dev; do
    libraries+=("$library:amd64" "$library:arm64")
  done
  install build-essential crossbuild-essential-arm64 dpkg-dev pkg-config ruby qemu-user-static "${libraries[@]}"
}

# Debian's libnghttp2.a is not position-independent code, so it cannot be linked into a shared object.
nghttp2() {
  mkdir -p /source
  cd /source
  apt-get source --quiet=2 nghttp2/bookworm-security || apt-get source --quiet=2 nghttp2
  local source triplet
  source=$(echo /source/nghttp2-*/lib)
  for triplet in $triplets; do
    mkdir -p "/source/$triplet" "/opt/$triplet/lib"
    cd "/source/$triplet"
    "$triplet-gcc" -c -O2 -fPIC -fstack-protector-strong -DHAVE_ARPA_INET_H -DHAVE_NETINET_IN_H -DNGHTTP2_STATICLIB \
      -DHAVE_TIME_H -DHAVE_CLOCK_GETTIME -DHAVE_DECL_CLOCK_MONOTONIC -DNDEBUG -I"$source/includes" "$source"/nghttp2_*.c
    "$triplet-gcc-ar" crs "/opt/$triplet/lib/libnghttp2.a" ./*.o
  done
}

# Ruby 3.1 comes from bookworm; 3.2 from Ubuntu's noble; 3.3 from trixie; 3.4 from experimental.
headers() {
  local version=$1 processor=$2
  mkdir -p "/targets/ruby-$version-$processor/debs"
  cd "/targets/ruby-$version-$processor/debs"
  apt-get download --quiet=2 "ruby$version-dev:$processor" "libruby$version:$processor" 2>/dev/null
  for deb in *.deb; do dpkg -x "$deb" ..; done
  rm -r ../debs
}

# Ubuntu's archive for arm64 is on another host, which is not reachable from every network: the headers for that
# processor are generated from the source of the same Ruby.
headers_by_configure() {
  local version=$1 triplet=aarch64-linux-gnu top="/targets/ruby-$1-arm64/usr"
  mkdir -p "/source/ruby-$version" "$top/include/$triplet/ruby-$version.0" "$top/lib/$triplet/ruby/$version.0"
  cd "/source/ruby-$version"
  local newest
  newest=$(apt-cache showsrc "ruby$version" | sed -n 's/^Version: //p' | head -1)
  # Ubuntu may have removed its own part of the source after an update; only Ruby's source is needed.
  apt-get source --quiet=2 --download-only "ruby$version=$newest" || true
  tar --extract --strip-components=1 --file "ruby${version}_"*.orig.tar.*
  mkdir build
  cd build
  ../configure --quiet --build=x86_64-linux-gnu --host=$triplet --with-baseruby=/usr/bin/ruby --enable-shared \
    --disable-install-doc --prefix=/usr >/dev/null 2>&1
  make --silent rbconfig.rb >/dev/null
  cp -r "/targets/ruby-$version-amd64/usr/include/ruby-$version.0" "$top/include/"
  cp -r .ext/include/aarch64-linux/ruby "$top/include/$triplet/ruby-$version.0/"
  sed -i "s,\"\$(rubyhdrdir)/\$(arch)\",\"$top/include/$triplet/ruby-$version.0\"," rbconfig.rb
  cp rbconfig.rb "$top/lib/$triplet/ruby/$version.0/"
}

sources
compilers
nghttp2
for version in 3.1 3.2 3.3 3.4; do headers "$version" amd64; done
for version in 3.1 3.3 3.4; do headers "$version" arm64; done
headers_by_configure 3.2
rm -rf /source /var/cache/apt/archives/*.deb
