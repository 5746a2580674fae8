# The engine without Ruby: wire/ and line/ as static libraries, and the C programs that test and fuzz them.
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

# As where there is no epoll, eventfd, ppoll and the like.
cc_poll := gcc
flags_poll := -O1 -g -DTRUNKLINE_POLL

cc_fuzz := clang
flags_fuzz := -O1 -g -fno-omit-frame-pointer -fsanitize=fuzzer-no-link,address,undefined \
              -fno-sanitize-recover=all

CC := $(cc_$(FLAVOUR))
found = $(shell pkg-config --exists $(1) && echo $(2))
optional_defines := $(call found,libnghttp2,-DHAVE_NGHTTP2) $(call found,libbrotlidec,-DHAVE_BROTLI) \
                    $(call found,libzstd,-DHAVE_ZSTD)
# As extconf.rb does: by what the library or system has, not by its version.
has_function = $(shell printf '\043include <%s>\nint main(void) { return !(long)&%s; }' $(2) $(3) | \
                       gcc -x c -o /dev/null - $(1) 2>/dev/null && echo -DHAVE_$(3) | tr a-z A-Z)
optional_defines += $(call has_function,-lnghttp2,nghttp2/nghttp2.h,nghttp2_option_set_max_continuations)
optional_defines += $(call has_function,,sys/epoll.h,epoll_create1) \
                    $(call has_function,,sys/eventfd.h,eventfd) \
                    $(call has_function,-D_GNU_SOURCE,poll.h,ppoll) \
                    $(call has_function,-pthread,pthread.h,pthread_condattr_setclock)
optional_libraries := $(call found,libnghttp2,-lnghttp2) $(call found,libbrotlidec,-lbrotlidec) \
                      $(call found,libzstd,-lzstd)
CFLAGS := -std=gnu99 -Wall -Wextra -Werror $(flags_$(FLAVOUR)) $(optional_defines) -I$(ext) -MMD -MP
# brotli's encoder is only for the tests, which make their own input.
LIBRARIES := -lssl -lcrypto -lz $(optional_libraries) $(call found,libbrotlienc,-lbrotlienc) -lpthread -lm

wire := $(patsubst $(ext)/%.c,$(out)/%.o,$(wildcard $(ext)/wire/*.c))
line := $(patsubst $(ext)/%.c,$(out)/%.o,$(wildcard $(ext)/line/*.c))

# Programs that name line/ get both rooms; the others get wire/ alone, which proves that it stands alone.
c_tests := $(wildcard trunkline/test/c/test_*.c trunkline/test/c/torture_*.c)
line_tests := $(if $(c_tests),$(shell grep -lE '[/"]line/' $(c_tests)))
wire_tests := $(filter-out $(line_tests),$(c_tests))
fuzzers := $(wildcard trunkline/test/fuzz/fuzz_*.c)

programs = $(patsubst trunkline/test/%.c,$(out)/%,$(1))

.PHONY: wire line fuzzers
wire: $(call programs,$(wire_tests))
line: $(call programs,$(line_tests))
fuzzers: $(call programs,$(fuzzers))

# What has been said by the programs' folders is said again by their names: rake reads them from here.
.PHONY: list-wire list-line list-fuzzers
list-wire: ; @printf '%s\n' $(call programs,$(wire_tests))
list-line: ; @printf '%s\n' $(call programs,$(line_tests))
list-fuzzers: ; @printf '%s\n' $(call programs,$(fuzzers))

$(out)/%.o: $(ext)/%.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -c -o $@ $<

$(out)/libwire.a: $(wire)
	@mkdir -p $(@D)
	@rm -f $@
	ar rcs $@ $^

$(out)/libline.a: $(line)
	@mkdir -p $(@D)
	@rm -f $@
	ar rcs $@ $^

$(call programs,$(line_tests)): $(out)/libline.a
$(call programs,$(line_tests)): private ROOMS := $(out)/libline.a $(out)/libwire.a
ROOMS := $(out)/libwire.a

# Allocations go through the program's own __wrap_malloc and so on, which fail when told to.
$(out)/c/torture_%: private LDFLAGS := -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc
$(call programs,$(fuzzers)): private LDFLAGS := -fsanitize=fuzzer

$(call programs,$(c_tests) $(fuzzers)): $(out)/%: trunkline/test/%.c $(out)/libwire.a
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $< $(ROOMS) $(LIBRARIES)

-include $(wildcard $(out)/*/*.d)
