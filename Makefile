# flashsale: one Makefile for everything. `make help` lists what it can do.
#
#   V=1                 shows the commands
#   SAN=address|thread  builds with a sanitizer, into build/address or build/thread
#   CC=gcc|clang        the compiler
#   WERROR=1            warnings are errors (developers and CI)
#   SHARED=1            dlock and flashsale use libdlock.so instead of libdlock.a; in a clean tree
#   FAIL_POINTS=1       compiles the named fail points in (tests only), into build/failpoints
#   ONLY="lock e2e"     `make test` runs only the programs with one of these in their path
#   REDIS=...           what test, demo and up run on: single (default), replicas, sentinel, cluster;
#                       demo and up also on quorum
#   ORDERS=...          up has the orders copied into a database: sqlite, or postgresql://...
#   REDIS_SERVER=...    the server's program: redis-server (default), valkey-server

VERSION := 0.1.0
CC      ?= gcc
PREFIX  ?= /usr/local
DESTDIR ?=
REDIS   ?= single
export REDIS_SERVER ?= redis-server

BUILD := build$(if $(SAN),/$(SAN))$(if $(FAIL_POINTS),/failpoints)
GEN   := $(BUILD)/gen

# Asked for at first use, once: `make test` may have to install pkg-config before.
once = $(eval $(1) := $(shell $(2)))$($(1))
TLS_LIBRARIES := hiredis_ssl libssl libcrypto
HAS_TLS := pkg-config --exists $(TLS_LIBRARIES)
PKG_CFLAGS   = $(call once,PKG_CFLAGS,pkg-config --cflags hiredis libcjson libcurl)
HIREDIS_TLS  = $(call once,HIREDIS_TLS,$(HAS_TLS) && echo -DDLOCK_TLS)
HIREDIS_LIBS = $(call once,HIREDIS_LIBS,pkg-config --libs $$($(HAS_TLS) && echo $(TLS_LIBRARIES)) hiredis)
CRYPTO_LIBS  = $(call once,CRYPTO_LIBS,pkg-config --libs libcrypto)
CJSON_LIBS   = $(call once,CJSON_LIBS,pkg-config --libs libcjson)
CURL_LIBS    = $(call once,CURL_LIBS,pkg-config --libs libcurl)

# The databases that flashsale-orders can write to: those whose libraries are here.
DATABASES    = $(call once,DATABASES,for it in sqlite3 libpq; do pkg-config --exists $$it && echo $$it; done 2>/dev/null)
NO_DATABASES = $(filter-out $(DATABASES),sqlite3 libpq)
DATABASE_DEFINES = $(patsubst libpq,-DORDERS_POSTGRES,$(patsubst sqlite3,-DORDERS_SQLITE,$(DATABASES)))
DATABASE_CFLAGS = $(if $(DATABASES),$(call once,DATABASE_CFLAGS,pkg-config --cflags $(DATABASES)))
DATABASE_LIBS = $(if $(DATABASES),$(call once,DATABASE_LIBS,pkg-config --libs $(DATABASES)))

WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wwrite-strings
WARN += $(if $(WERROR),-Werror)
ifdef SAN
  SANITIZERS_fuzz := fuzzer-no-link,address,undefined
  SANITIZERS := $(or $(SANITIZERS_$(SAN)),$(SAN:address=address,undefined))
  HARDEN := -O1 -fno-omit-frame-pointer -fsanitize=$(SANITIZERS) -fno-sanitize-recover=all
  HARDEN_LD := -fsanitize=$(SANITIZERS)
else
  HARDEN := -O2 -D_FORTIFY_SOURCE=2 -fstack-protector-strong -fstack-clash-protection
  HARDEN_LD := -Wl,-z,relro,-z,now
endif
# lock/ names its own files from lock/ on, so that it can be copied into another project.
INCLUDES := -I. -I$(GEN) -Ilock -I$(GEN)/lock
ALL_CFLAGS = -std=c11 -D_GNU_SOURCE -g -pthread -fPIC -fvisibility=hidden -MMD -MP $(HARDEN) \
	$(WARN) $(INCLUDES) -DFLASHSALE_VERSION='"$(VERSION)"' $(HIREDIS_TLS) $(PKG_CFLAGS) \
	$(if $(FAIL_POINTS),-DFAIL_POINTS) $(CPPFLAGS) $(CFLAGS)
ALL_LDFLAGS = -pthread -pie $(HARDEN_LD) $(LDFLAGS)

Q := $(if $(V),,@)
say = $(if $(V),,@printf '  %-7s %s\n' '$(1)' '$(2)')

# ---- what is made of what -----------------------------------------------------------------------

objects = $(patsubst %.c,$(BUILD)/obj/%.o,$(1))

LOCK_SRC   := $(sort $(wildcard lock/core/*.c lock/pending/*.c lock/kinds/*.c lock/shares/*.c lock/extras/*.c \
                           lock/redis/*.c))
CMD_SRC    := $(sort $(wildcard lock/cmd/*.c lock/cmd/*/*.c))
ORDERS_SRC := $(sort $(wildcard server/orders/*.c))
SERVER_SRC := $(filter-out $(ORDERS_SRC),$(sort $(wildcard server/*.c server/*/*.c)))
LOAD_SRC   := $(sort $(wildcard loadtest/*.c loadtest/*/*.c))
SUPPORT_SRC := $(sort $(filter-out tests/support/test_%,$(wildcard tests/support/*.c tests/support/*/*.c)))

LOCK_OBJ   := $(call objects,$(LOCK_SRC))
CMD_OBJ    := $(call objects,$(CMD_SRC))
SERVER_OBJ := $(call objects,$(SERVER_SRC))
ORDERS_OBJ := $(call objects,$(ORDERS_SRC))
LOAD_OBJ   := $(call objects,$(LOAD_SRC))
SUPPORT_OBJ := $(call objects,$(SUPPORT_SRC))

SERVER_LIBS = -lcivetweb $(CJSON_LIBS) $(HIREDIS_LIBS) $(CRYPTO_LIBS) -lm
LOAD_LIBS   = $(CURL_LIBS) $(CJSON_LIBS) -lhiredis -lm
ORDERS_LIBS = $(CURL_LIBS) $(CJSON_LIBS) $(HIREDIS_LIBS) $(DATABASE_LIBS) -lm
TEST_LIBS   = -lcmocka -lcivetweb $(CURL_LIBS) $(CJSON_LIBS) $(HIREDIS_LIBS) $(CRYPTO_LIBS) -lm

LUA := $(wildcard lock/*/*.lua server/*/*.lua)
LUA_H := $(patsubst %.lua,$(GEN)/%.lua.h,$(LUA))
PAGE_H := $(patsubst %,$(GEN)/%.h,$(wildcard loadtest/report/page/* loadtest/report/parts/*))
OPENAPI_H := $(GEN)/server/api/openapi.json.h

# What the live page is made of, the parts that it shares with the report included.
PAGE_FOLDERS := server/page loadtest/report/parts
PAGE_FILES   := $(wildcard $(addsuffix /*.[hcjs]*,$(PAGE_FOLDERS)))
PAGE_ASSETS  := $(GEN)/server/page/assets.h

# The strategies are the files of their folder.
STRATEGIES := $(sort $(filter-out %/registry.c,$(wildcard server/strategies/*.c)))
STRATEGY_LIST := $(GEN)/server/strategies/list.h

GENERATED := $(LUA_H) $(PAGE_H) $(if $(SERVER_SRC),$(PAGE_ASSETS) $(OPENAPI_H) $(STRATEGY_LIST))

PROGRAMS := $(if $(SERVER_SRC),$(BUILD)/flashsale) $(if $(LOAD_SRC),$(BUILD)/loadtest) \
	$(if $(CMD_SRC),$(BUILD)/dlock) $(if $(and $(ORDERS_SRC),$(DATABASES)),$(BUILD)/flashsale-orders)
LIBRARIES := $(BUILD)/libdlock.a $(BUILD)/libdlock.so
SONAME := libdlock.so.0
LIBDLOCK := $(BUILD)/libdlock.$(if $(SHARED),so,a)

# The evidence matrix: strategies x faults.
CHAOS_SRC := $(sort $(filter-out tests/chaos/test_%,$(wildcard tests/chaos/*.c tests/chaos/*/*.c)))
MATRIX    := $(BUILD)/tests/matrix

# Each tests/tools/NAME/ becomes the program build/tests/NAME; each tests/AREA/test_X.c becomes
# the program build/tests/AREA/test_X, linked with that area's objects.
TOOLS := $(filter-out %/shims,$(patsubst tests/tools/%/,$(BUILD)/tests/%,$(sort $(dir $(wildcard tests/tools/*/*.c)))))
# ... but tests/tools/shims/X.c becomes build/tests/shims/X.so, to be preloaded into other programs.
SHIMS := $(patsubst tests/tools/%.c,$(BUILD)/tests/%.so,$(wildcard tests/tools/shims/*.c))
TESTS := $(patsubst %.c,$(BUILD)/%,$(sort $(wildcard tests/*/test_*.c tests/*/*/test_*.c)))
# libuv's needs libuv: tests/lock/install_check.sh builds it, where that is.
EXAMPLES := $(patsubst lock/examples/%.c,$(BUILD)/examples/%, \
	$(filter-out %/libuv.c,$(wildcard lock/examples/*.c)))

# scripts/failover is installed under a name that tells whose it is.
COMMANDS := $(BUILD)/flashsale-failover

.PHONY: all help
all: $(PROGRAMS) $(COMMANDS) $(LIBRARIES) ## build the programs and the library
	$(if $(NO_DATABASES),@echo 'flashsale-orders is $(if $(DATABASES),built without,not built:) \
$(if $(DATABASES),$(NO_DATABASES),neither sqlite3 nor libpq is here) (scripts/deps orders installs what is missing)')

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 22

# ---- building -----------------------------------------------------------------------------------

$(BUILD)/flashsale: $(SERVER_OBJ) $(LIBDLOCK)
	$(call say,LINK,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(SERVER_LIBS)

$(BUILD)/flashsale-orders: $(ORDERS_OBJ) $(LIBDLOCK)
	$(call say,LINK,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(ORDERS_LIBS)

$(BUILD)/loadtest: $(LOAD_OBJ)
	$(call say,LINK,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LOAD_LIBS)

$(BUILD)/dlock: $(CMD_OBJ) $(LIBDLOCK)
	$(call say,LINK,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(HIREDIS_LIBS) -lm

$(BUILD)/flashsale-failover: scripts/failover
	$(call say,COPY,$@)
	$(Q)mkdir -p $(@D) && $(INSTALL) -m 755 $< $@

$(BUILD)/libdlock.a: $(LOCK_OBJ)
	$(call say,AR,$@)
	$(Q)mkdir -p $(@D) && rm -f $@ && $(AR) rcs $@ $^

$(BUILD)/libdlock.so: $(LOCK_OBJ)
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D) && $(CC) -shared -pthread $(HARDEN_LD) $(LDFLAGS) -Wl,-soname,$(SONAME) -o $@ $^ $(HIREDIS_LIBS)
	$(Q)ln -sf $(@F) $(@D)/$(SONAME)

# Changes when the compiler or the flags from outside do: gcc's and clang's objects do not mix.
$(BUILD)/compiler: stamp = $(CC) $(CPPFLAGS) $(CFLAGS)
# ... and when a database's library has come or gone.
$(BUILD)/databases: stamp = $(DATABASE_DEFINES) $(DATABASE_CFLAGS) $(DATABASE_LIBS)
$(BUILD)/compiler $(BUILD)/databases: FORCE
	@mkdir -p $(@D); echo '$(stamp)' | cmp -s - $@ || echo '$(stamp)' >$@
.PHONY: FORCE

$(BUILD)/obj/server/orders/%.o $(BUILD)/obj/tests/orders/%.o: INCLUDES += $(DATABASE_DEFINES) $(DATABASE_CFLAGS)
$(call objects,$(ORDERS_SRC) $(wildcard tests/orders/*.c)): $(BUILD)/databases

$(BUILD)/obj/%.o: %.c Makefile $(BUILD)/compiler | $(GENERATED)
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D) && $(CC) $(ALL_CFLAGS) -c -o $@ $<

# Lua scripts become string literals.
$(GEN)/%.lua.h: %.lua lock/embed.sh
	$(call say,LUA,$<)
	$(Q)mkdir -p $(@D) && lock/embed.sh $< >$@.tmp && mv $@.tmp $@

# The list of strategies, made anew when one comes or goes, or is explained otherwise.
$(STRATEGY_LIST): FORCE
	@mkdir -p $(@D); new=$@.$$$$; server/strategies/list.sh $(STRATEGIES) >$$new && \
		if cmp -s $$new $@; then rm $$new; else mv $$new $@; fi

# The parts of the HTML report become string literals like the scripts.
$(GEN)/loadtest/report/%.h: loadtest/report/% loadtest/embed.sh
	$(call say,EMBED,$<)
	$(Q)mkdir -p $(@D) && loadtest/embed.sh $< >$@.tmp && mv $@.tmp $@

# The description of the API likewise, with the strategies' names.
$(OPENAPI_H): server/api/openapi.json $(STRATEGY_LIST) loadtest/embed.sh
	$(call say,EMBED,$<)
	$(Q)mkdir -p $(@D) && names=$$(sed 's/STRATEGY(\([^,]*\).*/"\1"/' $(STRATEGY_LIST) | paste -sd, -) && \
		sed "s/\"@STRATEGIES@\"/$$names/" $< >$(@D)/openapi.json && \
		loadtest/embed.sh $(@D)/openapi.json >$@.tmp && mv $@.tmp $@

# The live page becomes a table. A folder changes when a file comes or goes.
$(PAGE_ASSETS): $(PAGE_FILES) $(PAGE_FOLDERS) server/embed.sh
	$(call say,EMBED,$(PAGE_FOLDERS))
	$(Q)mkdir -p $(@D) && server/embed.sh $(PAGE_FILES) >$@.tmp && mv $@.tmp $@

# ---- tests' programs ----------------------------------------------------------------------------

# Compiled quickly; but the tools, which make load, run quickly.
ifndef SAN
  $(BUILD)/obj/tests/%.o: HARDEN := -O0 -Wno-format-truncation
  $(BUILD)/obj/tests/tools/%.o $(BUILD)/obj/tests/support/history.o: HARDEN := $(HARDEN)
endif

# Archives, so that a program has in it what it uses, and is linked in no time.
SERVER_PARTS := $(BUILD)/tests/server.a
ORDERS_PARTS := $(BUILD)/tests/orders.a
LOAD_PARTS   := $(BUILD)/tests/loadtest.a
SUPPORT      := $(BUILD)/tests/support.a
FUZZ_LIB     := $(BUILD)/tests/fuzz/parts.a
$(SERVER_PARTS): $(filter-out $(BUILD)/obj/server/main.o,$(SERVER_OBJ))
$(ORDERS_PARTS): $(filter-out $(BUILD)/obj/server/orders/main.o,$(ORDERS_OBJ))
$(LOAD_PARTS): $(filter-out $(BUILD)/obj/loadtest/main.o,$(LOAD_OBJ))
$(SUPPORT): $(SUPPORT_OBJ)
# The parsers that are fuzzed, and what feeds them.
$(FUZZ_LIB): $(call objects,$(filter-out %/fuzz_main.c %/test_corpora.c %/test_differential.c, \
		$(wildcard tests/fuzz/*.c)) tests/tools/histcheck/history.c \
		$(wildcard loadtest/history/*.c loadtest/judge/*.c) loadtest/base/outcome.c)
$(SERVER_PARTS) $(ORDERS_PARTS) $(LOAD_PARTS) $(SUPPORT) $(FUZZ_LIB):
	$(call say,AR,$@)
	$(Q)mkdir -p $(@D) && rm -f $@ && $(AR) rcs $@ $^

.PHONY: test-programs tested
test-programs: tested $(TESTS) $(EXAMPLES)

# Those with one of the words in their path, as tests/run takes them; all without a word.
with_words = $(if $(1),$(foreach it,$(TESTS),$(if $(strip $(foreach word,$(1), \
	$(findstring $(word),$(it:$(BUILD)/tests/%=%)))),$(it))),test-programs)
# A recipe's lines: builds those, then what they start.
build_tests = $(if $(strip $(call with_words,$(1))),,$(error no test has $(1) in its path))$(parallel) \
	$(call with_words,$(1))$(if $(1), && \
	started=$$(tests/started $(BUILD) $(STARTED:$(BUILD)/%=%) -- $(call with_words,$(1))) && \
	{ [ -z "$$started" ] || $(parallel) $$started; })

# What the tests start. The last is the instances that a scripted schedule stops at named points.
STARTED := $(PROGRAMS) $(COMMANDS) $(LIBRARIES) $(TOOLS) $(MATRIX) $(SHIMS) \
	$(if $(FAIL_POINTS),,$(BUILD)/failpoints/flashsale)
tested: man $(STARTED) ## build what the tests start

$(BUILD)/failpoints/flashsale: FORCE | $(GENERATED)
	$(Q)$(MAKE) --no-print-directory FAIL_POINTS=1 $(BUILD)/failpoints/flashsale

.SECONDEXPANSION:
TOOL_LIBS = $(HIREDIS_LIBS) -lm
$(BUILD)/tests/curlloop: TOOL_LIBS = $(CURL_LIBS)
$(TOOLS): $(BUILD)/tests/%: $$(call objects,$$(wildcard tests/tools/$$*/*.c)) \
		$(BUILD)/obj/tests/support/history.o $(BUILD)/libdlock.a
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(ALL_LDFLAGS) -o $@ $^ $(TOOL_LIBS)

# What holds answers to openapi.json, and brings instances to give them.
OPENAPI_PARTS := $(call objects,$(filter-out tests/server/openapi/test_%,$(wildcard tests/server/openapi/*.c)))

test_parts = $(if $(filter tests/server/openapi/%,$(1)),$(OPENAPI_PARTS)) \
	$(if $(filter tests/chaos/%,$(1)),$(call objects,$(filter-out %/main.c,$(CHAOS_SRC)))) \
	$(if $(filter tests/fuzz/%,$(1)),$(FUZZ_LIB)) $(SUPPORT) \
	$(if $(filter tests/server/% tests/fuzz/% tests/chaos/%,$(1)),$(SERVER_PARTS)) \
	$(if $(filter tests/orders/% tests/e2e/test_orders_%,$(1)),$(ORDERS_PARTS)) \
	$(if $(filter tests/loadtest/%,$(1)),$(LOAD_PARTS),$(BUILD)/libdlock.a)
$(BUILD)/obj/tests/%.o: INCLUDES += -Itests
$(BUILD)/tests/orders/% $(BUILD)/tests/e2e/test_orders_%: TEST_LIBS += $(DATABASE_LIBS)
# This one stops a waiter at its last step in the wait set.
$(BUILD)/tests/lock/test_two_holders: ALL_LDFLAGS += -Wl,--wrap=dlock_attempt_grant
$(BUILD)/tests/lock/pending/test_calls: ALL_LDFLAGS += -Wl,--wrap=dlock_thread_start
# Nobody calls what lets FX_CASE choose a case: no archive would give it.
ONE_CASE := $(BUILD)/obj/tests/support/one_case.o
$(TESTS): $(BUILD)/%: $(BUILD)/obj/%.o $(ONE_CASE) $$(call test_parts,$$*)
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(ALL_LDFLAGS) -o $@ $^ $(TEST_LIBS)

# It has the service's registry of strategies: a new one is a row.
$(MATRIX): $(call objects,$(CHAOS_SRC)) $(SUPPORT) $(SERVER_PARTS) $(BUILD)/libdlock.a
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(ALL_LDFLAGS) -o $@ $^ $(TEST_LIBS)

$(BUILD)/tests/fuzz/fuzz: $(BUILD)/obj/tests/fuzz/fuzz_main.o $(FUZZ_LIB) $(SERVER_PARTS) \
		$(call objects,tests/support/raw.c tests/support/patience.c) $(BUILD)/libdlock.a
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(ALL_LDFLAGS) -fsanitize=fuzzer -o $@ $^ $(SERVER_LIBS)

# Without sanitizers, for what they are preloaded into has none.
$(SHIMS): $(BUILD)/tests/shims/%.so: tests/tools/shims/%.c $(wildcard tests/tools/shims/*.h)
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D) && $(CC) -std=c11 -D_GNU_SOURCE -g -O1 -fPIC -fvisibility=hidden $(WARN) -I. -shared -o $@ $<

$(EXAMPLES): $(BUILD)/examples/%: $(BUILD)/obj/lock/examples/%.o $(BUILD)/libdlock.a
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(ALL_LDFLAGS) -o $@ $^ $(HIREDIS_LIBS)

# ---- manual pages -------------------------------------------------------------------------------

# From what the programs say to --help, and from the headers.
MANUALS := $(patsubst %.in,$(BUILD)/man/%,$(notdir $(wildcard */man/*.in)))
MANUALS := $(if $(DATABASES),$(MANUALS),$(filter-out %/flashsale-orders.1,$(MANUALS)))
MANUAL_TOOLS := $(wildcard scripts/manual/*)

.PHONY: man
man: $(MANUALS) ## the manual pages, in build/man; man -l shows one

$(BUILD)/man/%.1: $(BUILD)/% $$(wildcard */man/$$*.1.in) $(MANUAL_TOOLS)
	$(call say,MAN,$@)
	$(Q)mkdir -p $(@D) && LD_LIBRARY_PATH=$(BUILD) scripts/manual/page $(wildcard */man/$*.1.in) $(VERSION) $< \
		>$@.$$$$ && mv $@.$$$$ $@

$(BUILD)/man/%.3: lock/%.h lock/man/%.3.in $(MANUAL_TOOLS)
	$(call say,MAN,$@)
	$(Q)mkdir -p $(@D) && scripts/manual/page lock/man/$*.3.in $(VERSION) $< >$@.$$$$ && mv $@.$$$$ $@

# ---- installing ---------------------------------------------------------------------------------

INSTALL ?= install
LIBDIR  ?= $(PREFIX)/lib
MANDIR  ?= $(PREFIX)/share/man
TO_BIN     = $(DESTDIR)$(PREFIX)/bin
TO_INCLUDE = $(DESTDIR)$(PREFIX)/include
TO_LIB     = $(DESTDIR)$(LIBDIR)
TO_MAN     = $(DESTDIR)$(MANDIR)
TO_UNITS   = $(DESTDIR)$(PREFIX)/lib/systemd/system
TO_COMPLETIONS = $(DESTDIR)$(PREFIX)/share/bash-completion/completions

UNITS := flashsale@.service $(if $(filter %/flashsale-orders,$(PROGRAMS)),flashsale-orders.service)

# What a program that locks needs, and the command.
LOCK_MANUALS := $(filter $(BUILD)/man/dlock%,$(MANUALS))

.PHONY: install install-lock uninstall
install-lock: $(BUILD)/dlock $(LIBRARIES) $(LOCK_MANUALS) ## install only libdlock and dlock, with their manual pages
	$(Q)$(INSTALL) -d $(TO_BIN) $(TO_INCLUDE) $(TO_LIB)/pkgconfig $(TO_MAN)/man1 $(TO_MAN)/man3 $(TO_COMPLETIONS)
	$(Q)$(INSTALL) -m 755 $(BUILD)/dlock $(TO_BIN)
	$(Q)$(INSTALL) -m 644 lock/dlock.h lock/dlock_redis.h lock/dlock.hpp $(TO_INCLUDE)
	$(Q)$(INSTALL) -m 644 $(BUILD)/libdlock.a $(TO_LIB)
	$(Q)$(INSTALL) -m 755 $(BUILD)/libdlock.so $(TO_LIB)/libdlock.so.$(VERSION)
	$(Q)ln -sf libdlock.so.$(VERSION) $(TO_LIB)/$(SONAME)
	$(Q)ln -sf $(SONAME) $(TO_LIB)/libdlock.so
	$(Q)sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@LIBDIR@|$(LIBDIR)|' -e 's|@VERSION@|$(VERSION)|' \
		-e 's|@TLS@|$(if $(HIREDIS_TLS),$(TLS_LIBRARIES))|' lock/dlock.pc.in >$(TO_LIB)/pkgconfig/dlock.pc
	$(Q)chmod 644 $(TO_LIB)/pkgconfig/dlock.pc
	$(Q)$(INSTALL) -m 644 $(filter %.1,$(LOCK_MANUALS)) $(TO_MAN)/man1
	$(Q)$(INSTALL) -m 644 $(filter %.3,$(LOCK_MANUALS)) $(TO_MAN)/man3
	$(Q)for page in $(patsubst $(BUILD)/man/%.3,%,$(filter %.3,$(LOCK_MANUALS))); do \
		awk -v part=names -f scripts/manual/roff.awk -f scripts/manual/header.awk lock/$$page.h | \
		while read -r name; do ln -sf $$page.3 $(TO_MAN)/man3/$$name.3; done; done
	$(Q)$(INSTALL) -m 644 scripts/manual/completion.bash $(TO_COMPLETIONS)/dlock

install: install-lock all man ## install that, the other programs, manual pages, completion, units (PREFIX, LIBDIR, DESTDIR)
	$(Q)$(INSTALL) -d $(TO_UNITS)
	$(Q)$(INSTALL) -m 755 $(filter-out %/dlock,$(PROGRAMS)) $(COMMANDS) $(TO_BIN)
	$(Q)$(INSTALL) -m 644 $(filter-out $(LOCK_MANUALS),$(MANUALS)) $(TO_MAN)/man1
	$(Q)for program in $(notdir $(filter-out %/dlock,$(PROGRAMS))); do \
		$(INSTALL) -m 644 scripts/manual/completion.bash $(TO_COMPLETIONS)/$$program; done
	$(Q)for unit in $(UNITS); do \
		sed 's|/usr/local/bin/|$(PREFIX)/bin/|' docker/$$unit >$(TO_UNITS)/$$unit && \
		chmod 644 $(TO_UNITS)/$$unit || exit; done

uninstall: ## remove what install installs with the same PREFIX, LIBDIR, DESTDIR
	$(Q)stage=$$(mktemp -d) && $(MAKE) -s install DESTDIR="$$stage" && \
		(cd "$$stage" && find . ! -type d -printf '$(DESTDIR)/%P\0') | xargs -0 rm -f; rm -r "$$stage"

.PHONY: deb
deb: ## the Debian packages, looked at by lintian, in build/deb
	$(Q)CC='$(CC)' scripts/deps deb
	$(Q)scripts/deb

# ---- running ------------------------------------------------------------------------------------
# Each of these first sees to the packages it needs; only then can make know what to build.

more := $(MAKE) --no-print-directory
parallel = $(more) $(if $(filter -j%,$(MAKEFLAGS)),,-j$(shell nproc))

.PHONY: demo test check up down lint
demo: ## three instances, with and without a lock: who oversells?
	$(Q)echo 'make demo: installs missing Debian packages, builds, then runs the demo (about two minutes) and stops all of it'
	$(Q)CC='$(CC)' scripts/deps demo
	$(Q)$(parallel) all
	$(Q)REDIS=$(REDIS) scripts/demo

.PHONY: bench
bench: ## what the strategies cost: build/bench/bench.json, bench.html; BENCH=quick, PEERS=1 (needs go)
	$(Q)CC='$(CC)' scripts/deps bench
	$(Q)$(parallel) all $(BUILD)/tests/faultproxy $(BUILD)/tests/viewers
	$(Q)FLASHSALE_BUILD=$(BUILD) BENCH='$(BENCH)' PEERS='$(PEERS)' scripts/bench

.PHONY: instructions
instructions: ## instructions a request, by callgrind, beside those on file; fails when it took 10 % more
	$(Q)CC='$(CC)' scripts/deps instructions
	$(Q)$(parallel) all
	$(Q)FLASHSALE_BUILD=$(BUILD) scripts/instructions

test: ## the tests, on servers they start themselves; ONLY=/ also those of chaos, model, abi, mutate, bench ...
	$(Q)CC='$(CC)' scripts/deps test
	$(Q)$(call build_tests,$(ONLY))
	$(Q)FLASHSALE_BUILD=$(BUILD) FX_REDIS=$(REDIS) tests/run $(ONLY)

check: lint ## lint, and the tests of what has changed since BASE (default: origin/main)
	$(Q)MAKE='$(more)' scripts/check $(BASE)

up: ## three instances on 127.0.0.1:7000-7002, left running; ORDERS=sqlite: orders go to a database
	$(Q)CC='$(CC)' scripts/deps demo $(if $(ORDERS),orders)
	$(Q)$(parallel) all
	$(Q)REDIS=$(REDIS) scripts/up

down: ## stop what `make up` started
	$(Q)scripts/down

lint: ## formatting, includes, banned functions and words, shellcheck, clang-tidy
	$(Q)CC='$(CC)' scripts/deps lint
	$(Q)$(more) lint-only

stack: ## the tests of the compose stack; needs a container engine
	$(Q)CC='$(CC)' scripts/deps test
	$(Q)$(call build_tests,docker/test_stack)
	$(Q)FLASHSALE_BUILD=$(BUILD) FLASHSALE_STACK=1 TEST_DEADLINE_S=1200 tests/run docker/test_stack

.PHONY: servers
servers: ## tests and quick matrix on Redis 7.0, 8.0 and Valkey 8.1, in containers; SERVERS="valkey-8.1", ONLY="lock/"
	$(Q)ONLY='$(ONLY)' SEED='$(SEED)' scripts/servers $(SERVERS)

.PHONY: chaos
chaos: ## strategies x faults: build/chaos/matrix.html; CHAOS=quick, ROWS=combined,none, SEED=n
	$(Q)CC='$(CC)' scripts/deps test
	$(Q)$(parallel) tested $(call with_words,planted)
	$(Q)FLASHSALE_BUILD=$(BUILD) CHAOS='$(CHAOS)' ROWS='$(ROWS)' SEED='$(SEED)' scripts/chaos

# The judge of sales alone: it goes into the archive, and needs neither curl nor a Redis.
$(BUILD)/tests/verify: $(call objects,tests/porcupine/verify/main.c loadtest/cli/verify.c loadtest/cli/help.c \
		$(wildcard loadtest/history/*.c loadtest/judge/*.c loadtest/base/*.c))
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(ALL_LDFLAGS) -o $@ $^ $(CJSON_LIBS) -lm

.PHONY: evidence
evidence: ## the matrix's histories judged by Porcupine, too: build/evidence; EVIDENCE=full, SEED=n; needs go
	$(Q)CC='$(CC)' scripts/deps test
	$(Q)$(parallel) tested $(BUILD)/tests/verify $(BUILD)/tests/lock/test_faults $(BUILD)/tests/lock/test_planted
	$(Q)FLASHSALE_BUILD=$(BUILD) EVIDENCE='$(EVIDENCE)' SEED='$(SEED)' scripts/evidence

.PHONY: soak
soak: ## three instances under load and random faults; MINUTES=20, SEED=n, ROW=strategy
	$(Q)CC='$(CC)' scripts/deps test
	$(Q)$(parallel) $(PROGRAMS) $(TOOLS) $(MATRIX) $(SHIMS)
	$(Q)FLASHSALE_BUILD=$(BUILD) $(MATRIX) soak --minutes $(or $(MINUTES),20) $(if $(SEED),--seed $(SEED)) \
		$(if $(ROW),--row $(ROW)) --out $(BUILD)/soak

.PHONY: failovers
failovers: all ## cuts and failovers on real servers, as root; SCENARIO="planned 10", see tests/chaos/failovers
	$(Q)CC='$(CC)' scripts/deps test
	$(Q)FLASHSALE_BUILD=$(BUILD) tests/chaos/failovers/failovers \
		$(or $(SCENARIO),split 14 combined memory) $(if $(SEED),--seed $(SEED))

.PHONY: stack lint-only asan tsan
lint-only: $(GENERATED)
	$(Q)scripts/lint -std=c11 -D_GNU_SOURCE $(INCLUDES) -Itests $(PKG_CFLAGS) $(HIREDIS_TLS) \
		-DFLASHSALE_VERSION='"$(VERSION)"' -DFAIL_POINTS $(DATABASE_DEFINES) $(DATABASE_CFLAGS)

asan: ## `make test` under AddressSanitizer and UndefinedBehaviorSanitizer
	$(Q)$(more) test SAN=address
tsan: ## `make test` under ThreadSanitizer
	$(Q)$(more) test SAN=thread

.PHONY: stale
stale: ## record the stale write that the live page shows: server/page/stale.json
	$(Q)CC='$(CC)' scripts/deps test
	$(Q)$(parallel) tested $(BUILD)/tests/browser/test_stale_write
	$(Q)FLASHSALE_BUILD=$(BUILD) STALE_JSON=server/page/stale.json $(BUILD)/tests/browser/test_stale_write

.PHONY: pictures
pictures: ## take pictures of the live page and a report: build/pictures, and those of README.md
	$(Q)CC='$(CC)' scripts/deps test browser
	$(Q)$(parallel) tested $(BUILD)/tests/browser/test_pictures
	$(Q)mkdir -p server/page/pictures loadtest/report/pictures
	$(Q)FLASHSALE_BUILD=$(BUILD) FX_PICTURES=1 $(BUILD)/tests/browser/test_pictures
	$(Q)cp $(BUILD)/pictures/page.png server/page/pictures/
	$(Q)cp $(BUILD)/pictures/report.png loadtest/report/pictures/

.PHONY: model
model: ## every order of the steps of lock, fence and failover, by spin; ONLY="fence" for some variants
	$(Q)CC='$(CC)' scripts/deps model
	$(Q)CC='$(CC)' tests/model/run $(ONLY)

.PHONY: mutate
mutate: ## which of N one-token changes do the tests notice? (SEED=1 N=60 AREA="server lock loadtest")
	$(Q)CC='$(CC)' scripts/deps test
	$(Q)$(parallel) test-programs
	$(Q)SEED='$(SEED)' N='$(N)' AREA='$(AREA)' AT='$(AT)' ONLY='$(ONLY)' scripts/mutate

.PHONY: abi
abi: ## does a program compiled with the last release go on working? RENEW=1 keeps this interface
	$(Q)CC='$(CC)' scripts/deps abi
	$(Q)$(parallel) $(BUILD)/libdlock.so
	$(Q)tests/lock/abi/compare $(if $(RENEW),--renew) $(BUILD)/libdlock.so lock

.PHONY: fuzz
fuzz: ## random bytes for every parser, SECONDS=n each (default 30); KEEP=1 keeps what was new
	$(Q)CC=clang scripts/deps fuzz
	$(Q)$(parallel) SAN=fuzz CC=clang build/fuzz/tests/fuzz/fuzz
	$(Q)tests/fuzz/run build/fuzz/tests/fuzz/fuzz $(or $(SECONDS),30) $(KEEP)

# ---- chores -------------------------------------------------------------------------------------

.PHONY: format clean
format: ## clang-format every source file
	$(Q)find . -path ./build -prune -o \( -name '*.[ch]' -o -name '*.[ch]pp' \) -exec clang-format -i {} +

clean: ## remove build/
	$(Q)rm -rf build

-include $(shell find $(BUILD)/obj -name '*.d' 2>/dev/null)
