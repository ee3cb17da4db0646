# The only build. `make help` lists the targets. All output goes to build/.
MAKEFLAGS += --no-builtin-rules
B           := build
CXX         := clang++-22
LLVM_CONFIG := llvm-config-22
CLANG       := clang++-22
CXXFLAGS    ?= -O2 -g1
# libstdc++ 12's own std::stable_sort uses what C++20 deprecates, and clang blames the caller.
WARN        := -Wall -Wextra -Werror -Wno-deprecated-declarations
CPPFLAGS     = -std=c++20 -I ir-spec/include -I $(B)/gen
CCACHE      := $(shell command -v ccache 2>/dev/null)
LINKER      := $(shell command -v mold >/dev/null 2>&1 && echo -fuse-ld=mold)
STAGES      := parse check grad fuse codegen link

.PHONY: all help
.DEFAULT_GOAL := all

# ---- ir-spec: the table, the library, the tool --------------------------------------------------------------------
LIB_SRC  := $(wildcard ir-spec/lib/*.cc)
LIB_OBJ  := $(LIB_SRC:%.cc=$(B)/obj/%.o)
TOOL_OBJ := $(patsubst %.cc,$(B)/obj/%.o,$(wildcard ir-spec/tool/*.cc))

# ---- each stage: its own sources and the library; LLVM in mica-codegen alone --------------------------------------
define stage_sources
SRC_$(1) := $$(shell find mica-$(1) -name '*.cc' 2>/dev/null | sort)
OBJ_$(1) := $$(SRC_$(1):%.cc=$$(B)/obj/%.o)
endef
$(foreach s,$(STAGES) driver,$(eval $(call stage_sources,$(s))))
OBJ_codegen += $(B)/obj/mica-codegen/math.o

# The programs that have sources (a folder without a main yet builds nothing).
PROGRAMS := $(if $(TOOL_OBJ),$(B)/bin/spectra) $(foreach s,$(STAGES),$(if $(SRC_$(s)),$(B)/bin/mica-$(s))) \
            $(if $(SRC_driver),$(B)/bin/micac)

include libmicart/build.mk
include tests/build.mk

all: $(PROGRAMS) $(RUNTIME) ## build every stage, the driver and the runtime
help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/ -/'

$(B)/lib/libspectra.a: $(LIB_OBJ)
	@mkdir -p $(@D) && rm -f $@ && ar rcs $@ $^

$(B)/bin/spectra: $(TOOL_OBJ) $(B)/lib/libspectra.a
	@mkdir -p $(@D)
	$(CXX) $(LINKER) $^ -o $@
define stage_program
$(B)/bin/$(2): $$(OBJ_$(1)) $(B)/lib/libspectra.a
	@mkdir -p $$(@D)
	$(CXX) $(LINKER) $$^ $$(LIBS_$(1)) -o $$@
endef
$(foreach s,$(STAGES),$(eval $(call stage_program,$(s),mica-$(s))))
$(eval $(call stage_program,driver,micac))

LIBS_codegen := $(shell $(LLVM_CONFIG) --ldflags --libs --link-shared 2>/dev/null) -Wl,-rpath,$(shell $(LLVM_CONFIG) --libdir 2>/dev/null)
$(B)/obj/mica-codegen/%.o: CPPFLAGS += -isystem $(shell $(LLVM_CONFIG) --includedir 2>/dev/null) -I mica-codegen \
    -D__STDC_CONSTANT_MACROS -D__STDC_FORMAT_MACROS -D__STDC_LIMIT_MACROS
$(foreach s,parse check grad fuse link driver,$(eval $(B)/obj/mica-$(s)/%.o: CPPFLAGS += -I mica-$(s)))

# The math library's bitcode and the card's skeletons travel inside mica-codegen.
$(B)/obj/mica-codegen/math.o: mica-codegen/math.s $(B)/lib/math.x86.bc $(B)/lib/math.nvptx.bc $(B)/lib/device.nvptx.bc
	@mkdir -p $(@D)
	$(CXX) -c -Wa,-I$(B)/lib $< -o $@

# ---- generated tables ---------------------------------------------------------------------------------------------
$(B)/bin/gen-ops: ir-spec/gen/ops.cc
	@mkdir -p $(@D)
	$(CXX) -std=c++20 -O1 $(WARN) $< -lyaml-cpp -o $@
$(B)/gen/spectra/ops.inc: $(B)/bin/gen-ops ir-spec/ops.yaml
	@mkdir -p $(@D)
	$(B)/bin/gen-ops ir-spec/ops.yaml $@ $(B)/gen/OPS.md
UNICODE := /usr/share/unicode
$(B)/bin/gen-unicode: ir-spec/gen/unicode.cc
	@mkdir -p $(@D)
	$(CXX) -std=c++20 -O1 $(WARN) $< -o $@
$(B)/gen/spectra/unicode.inc: $(B)/bin/gen-unicode $(UNICODE)/UnicodeData.txt
	@mkdir -p $(@D)
	$(B)/bin/gen-unicode $(UNICODE) $@
# The lines of the composite verbs, embedded in mica-grad.
VERBS := $(sort $(wildcard ir-spec/verbs/*.spectra))
$(B)/gen/spectra/verbs.inc: $(VERBS)
	@mkdir -p $(@D)
	@for v in $(VERBS); do printf '{"%s", R"spectra(' $$(basename $$v .spectra); cat $$v; echo ')spectra"},'; done > $@
GENERATED := $(B)/gen/spectra/ops.inc $(B)/gen/spectra/unicode.inc $(B)/gen/spectra/verbs.inc

# ---- rules --------------------------------------------------------------------------------------------------------
$(B)/obj/%.o: %.cc | $(GENERATED)
	@mkdir -p $(@D)
	$(CCACHE) $(CXX) $(CPPFLAGS) $(CXXFLAGS) $(WARN) -MMD -MP -c $< -o $@
-include $(shell find $(B)/obj -name '*.d' 2>/dev/null)

.PHONY: format format-check clean install
FORMATTED = $(shell git ls-files '*.cc' '*.h' '*.cpp')
format: ## rewrite all sources with the checked-in style
	clang-format-14 -i $(FORMATTED)
format-check: ## fail where a source is not in the checked-in style
	clang-format-14 --dry-run -Werror $(FORMATTED)
clean: ## remove build/
	rm -rf $(B)

# ---- installing ---------------------------------------------------------------------------------------------------
PREFIX  ?= /usr/local
DESTDIR ?=
VERSION  = $(shell sed -n 's/.*kVersion = "\(.*\)".*/\1/p' ir-spec/include/spectra/stage.h)
install: all ## copy the programs and libraries below $(DESTDIR)$(PREFIX)
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/lib/mica $(DESTDIR)$(PREFIX)/share/mica/examples
	install -m 755 $(PROGRAMS) $(DESTDIR)$(PREFIX)/bin
	install -m 644 $(RUNTIME) $(DESTDIR)$(PREFIX)/lib/mica
	cp -r examples/. $(DESTDIR)$(PREFIX)/share/mica/examples
deb: all ## build/mica_VERSION_amd64.deb
	rm -rf $(B)/deb && $(MAKE) --no-print-directory install DESTDIR=$(B)/deb PREFIX=/usr
	install -d $(B)/deb/DEBIAN
	printf 'Package: mica\nVersion: $(VERSION)\nArchitecture: amd64\nMaintainer: The Mica project <mica@localhost>\n' > $(B)/deb/DEBIAN/control
	printf 'Depends: libc6, libstdc++6, libllvm22, binutils, gcc | clang\nDescription: The Mica compiler\n' >> $(B)/deb/DEBIAN/control
	printf ' A Pascal-descended language that trains AI models: six stages joined by a textual IR.\n' >> $(B)/deb/DEBIAN/control
	dpkg-deb --root-owner-group --build $(B)/deb $(B)/mica_$(VERSION)_amd64.deb
