# The engine without Ruby: protocol/ and transport/ as static libraries, and the C programs that test and fuzz them.
# Run from the root by rakelib/engine.rake:  make -f rakelib/support/engine.mk FLAVOUR=sanitized tests

FLAVOUR ?= plain
ext := trunkline/ext/trunkline
out := tmp/engine/$(FLAVOUR)

cc_plain := gcc
flags_plain := -O1 -g

cc_sanitized := clang
flags_sanitized := -O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all

cc_threads := clang
flags_threads := -O1 -g -fno-omit-frame-pointer -fsanitize=thread

# Built like on a system without epoll, eventfd, ppoll and the like.
cc_poll := gcc
flags_poll := -O1 -g -DTRUNKLINE_POLL

cc_fuzz := clang
flags_fuzz := -O1 -g -fno-omit-frame-pointer -fsanitize=fuzzer-no-link,address,undefined \
              -fno-sanitize-recover=all

CC := $(cc_$(FLAVOUR))
found = $(shell pkg-config --exists $(1) && echo $(2))
optional_defines := $(call found,libnghttp2,-DHAVE_NGHTTP2) $(call found,libbrotlidec,-DHAVE_BROTLI) \
                    $(call found,libzstd,-DHAVE_ZSTD)
# Checks for functions like extconf.rb: by what the library or system has, not by its version.
has_function = $(shell printf '\043include <%s>\nint main(void) { return !(long)&%s; }' $(2) $(3) | \
                       gcc -x c -o /dev/null - $(1) 2>/dev/null && echo -DHAVE_$(3) | tr a-z A-Z)
optional_defines += $(call has_function,-lnghttp2,nghttp2/nghttp2.h,nghttp2_option_set_max_continuations)
optional_defines += $(call has_function,,sys/epoll.h,epoll_create1) \
                    $(call has_function,,sys/eventfd.h,eventfd) \
                    $(call has_function,-D_GNU_SOURCE,poll.h,ppoll) \
                    $(call has_function,-pthread,pthread.h,pthread_condattr_setclock)
optional_libraries := $(call found,libnghttp2,-lnghttp2) $(call found,libbrotlidec,-lbrotlidec) \
                      $(call found,libzstd,-lzstd)
CFLAGS := -std=gnu99 -Wall -Wextra -Werror $(flags_$(FLAVOUR)) $(optional_defines) -I$(ext) -Itrunkline/test/c/support -MMD -MP
# Only the tests use brotli's encoder, to make their input.
LIBRARIES := -lssl -lcrypto -lz $(optional_libraries) $(call found,libbrotlienc,-lbrotlienc) -lpthread -lm

objects = $(patsubst $(ext)/%.c,$(out)/%.o,$(shell find $(ext)/$(1) -name '*.c' | sort))
protocol := $(call objects,protocol)
transport := $(call objects,transport)

# The tests of transport/ are linked with both libraries; those of protocol/ with libprotocol.a alone, which proves that
# it does not depend on transport/.
tests = $(shell find trunkline/test/c/$(1) -name 'test_*.c' -o -name 'torture_*.c' | sort)
transport_tests := $(call tests,transport)
protocol_tests := $(call tests,protocol)
c_tests := $(protocol_tests) $(transport_tests)
fuzzers := $(wildcard trunkline/test/fuzz/fuzz_*.c)

programs = $(patsubst trunkline/test/%.c,$(out)/%,$(1))

.PHONY: protocol transport fuzzers
protocol: $(call programs,$(protocol_tests))
transport: $(call programs,$(transport_tests))
fuzzers: $(call programs,$(fuzzers))

# Prints the paths of the programs, which rake reads.
.PHONY: list-protocol list-transport list-fuzzers
list-protocol: ; @printf '%s\n' $(call programs,$(protocol_tests))
list-transport: ; @printf '%s\n' $(call programs,$(transport_tests))
list-fuzzers: ; @printf '%s\n' $(call programs,$(fuzzers))

$(out)/%.o: $(ext)/%.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -c -o $@ $<

$(out)/libprotocol.a: $(protocol)
	@mkdir -p $(@D)
	@rm -f $@
	ar rcs $@ $^

$(out)/libtransport.a: $(transport)
	@mkdir -p $(@D)
	@rm -f $@
	ar rcs $@ $^

$(call programs,$(transport_tests)): $(out)/libtransport.a
$(call programs,$(transport_tests)): private ENGINE := $(out)/libtransport.a $(out)/libprotocol.a
ENGINE := $(out)/libprotocol.a

# Calls of malloc, calloc and realloc go to the program's own __wrap_malloc and so on, which can be made to fail.
$(call programs,$(filter %/torture_protocol.c %/torture_transport.c,$(c_tests))): private LDFLAGS := -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc
$(call programs,$(fuzzers)): private LDFLAGS := -fsanitize=fuzzer

$(call programs,$(c_tests) $(fuzzers)): $(out)/%: trunkline/test/%.c $(out)/libprotocol.a
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $< $(ENGINE) $(LIBRARIES)

-include $(shell test -d $(out) && find $(out) -name '*.d')
