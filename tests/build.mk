# Tests: the runner of one-file tests, the units, and the checks over the whole tree.
#
# tests/unit/NAME_test.cc is linked with the library and, by the first word of its name, with that stage's objects without its
# main (grad_*_test.cc: mica-grad) or with libmicart (runtime_*_test.cc). All units of one first word are one program.
RUNNER_OBJ   := $(patsubst %.cc,$(B)/obj/%.o,$(wildcard tests/runner/*.cc))
UNIT_SRC     := $(wildcard tests/unit/*_test.cc)
UNIT_GROUPS  := $(sort $(foreach u,$(notdir $(UNIT_SRC)),$(firstword $(subst _, ,$(u)))))
SUPPORT_OBJ  := $(patsubst %.cc,$(B)/obj/%.o,$(wildcard tests/support/*.cc))
UNIT_TESTS   := $(UNIT_GROUPS:%=$(B)/bin/unit-%)
GTEST        := -lgtest -lpthread
CHECK_FILTER ?= *

$(B)/bin/mica-tests: $(RUNNER_OBJ) $(B)/lib/libspectra.a
	@mkdir -p $(@D)
	$(CXX) $(LINKER) $^ $(GTEST) -o $@

# $(1) a group's name; a group that names no stage gets the library and tests/support alone.
define unit_program
UNIT_OBJ_$(1) := $$(patsubst %.cc,$(B)/obj/%.o,$$(wildcard tests/unit/$(1)_*_test.cc tests/unit/$(1)_test.cc))
UNIT_WITH_$(1) := $$(if $$(filter runtime,$(1)),$(B)/lib/libmicart.a,$$(filter-out %/main.o,$$(OBJ_$(1))) $(SUPPORT_OBJ))
$(B)/bin/unit-$(1): $$(UNIT_OBJ_$(1)) $$(UNIT_WITH_$(1)) $(B)/lib/libspectra.a
	@mkdir -p $$(@D)
	$(CXX) $(LINKER) $$(UNIT_OBJ_$(1)) -lgtest_main $$(UNIT_FLAGS_$(1)) $$(UNIT_WITH_$(1)) $(B)/lib/libspectra.a $$(LIBS_$(1)) $(GTEST) -ldl -o $$@
endef
# The fuzzer runs a changed text through every stage behind it.
FUZZED := check grad fuse codegen
OBJ_fuzz := $(foreach s,$(FUZZED),$(OBJ_$(s)))
LIBS_fuzz = $(LIBS_codegen)
# libmicart brings a main of its own, which a unit must not run: the first one, GoogleTest's, holds.
UNIT_FLAGS_runtime := -Wl,--allow-multiple-definition
$(foreach g,$(UNIT_GROUPS),$(eval $(call unit_program,$(g))))
$(foreach s,$(STAGES) driver,$(eval $(B)/obj/tests/unit/$(s)_%.o: CPPFLAGS += -I mica-$(s)))
$(B)/obj/tests/unit/%.o $(B)/obj/tests/support/%.o: CPPFLAGS += -I tests/support
$(B)/obj/tests/unit/fuzz_%.o: CPPFLAGS += $(FUZZED:%=-I mica-%)
$(B)/obj/tests/unit/codegen_%.o: CPPFLAGS += -isystem $(shell $(LLVM_CONFIG) --includedir 2>/dev/null)
# The headers of libmicart assume its baseline.
$(B)/obj/tests/unit/runtime_%.o: CPPFLAGS += -march=x86-64-v3 -ffp-contract=off

.PHONY: check check-manual update tests check-spec layering check-files check-long $(foreach s,$(STAGES) driver run ir unit laws,check-$(s))
tests: all $(B)/bin/mica-tests $(UNIT_TESTS) ## build the tests without running them
check: tests check-spec layering check-files check-manual ## build and run every test; the last line is `N passed, N failed`
	@tests/run-shards --filter '$(CHECK_FILTER)' $(UNIT_TESTS) $(B)/bin/mica-tests
$(foreach s,$(STAGES) driver run ir,check-$(s)): check-%: all $(B)/bin/mica-tests $(UNIT_TESTS)
	@tests/run-shards --filter '$*.*' $(B)/bin/mica-tests $(filter %/unit-$*,$(UNIT_TESTS))
check-unit: $(UNIT_TESTS) ## the units alone (check-parse, check-run, ...: one folder of tests with its units)
	@tests/run-shards $^
check-laws: all $(B)/bin/mica-tests ## round trip, pipe and repetition over the whole corpus
	@tests/run-shards --filter 'laws_*' $(B)/bin/mica-tests
update: all $(B)/bin/mica-tests ## rewrite the expectations of tests, and OPS.md, and list what changed
	@cmp -s ir-spec/OPS.md $(B)/gen/OPS.md || { cp $(B)/gen/OPS.md ir-spec/ && echo 'updated ir-spec/OPS.md'; }
	@MICA_UPDATE=1 $(B)/bin/mica-tests --gtest_brief=1 --gtest_filter='$(CHECK_FILTER)'
PAGES := docs/language.md docs/remarks.md $(wildcard */README.md)
check-manual: all ## the programs of the manual and of the READMEs, compiled, run and compared
	@tests/manual $(PAGES) > $(B)/manual.log || { cat $(B)/manual.log; exit 1; }
check-long: tests ## the tests that take minutes
	@set -e; for t in $(wildcard tests/long/*.sh); do echo "== $$t"; sh $$t; done

# ---- the specification's pages and the layers ---------------------------------------------------------------------
check-spec: $(B)/gen/spectra/ops.inc ## OPS.md is what ops.yaml says (the examples are parsed by the units)
	@cmp -s ir-spec/OPS.md $(B)/gen/OPS.md || { echo "ir-spec/OPS.md is not what ops.yaml says: cp $(B)/gen/OPS.md ir-spec/"; exit 1; }
check-files: ## the files that other programs made are the ones that are checked in
	@for f in tests/data tests/outside; do (cd $$f && sha256sum --quiet -c checksums.txt) || exit 1; done
layering: ## no stage includes another's headers; LLVM in mica-codegen, CLI11 in mains, yaml-cpp in gen, driver, runtime
	@tests/layering

# ---- for people and their editors ---------------------------------------------------------------------------------
.PHONY: wc demo bench deb
wc: ## the longest files
	@git ls-files '*.cc' '*.h' | xargs wc -l | sort -rn | sed 1d | head -25
compile_commands.json: ## for clangd and other tools
	@$(MAKE) --no-print-directory -Bnk tests 2>/dev/null | tests/compile-commands > $@

# ---- showing it ---------------------------------------------------------------------------------------------------
DEMO_STEPS ?= 1000
demo: ## set up, build, train a GPT over bytes on the processor and show what it writes
	@.ci/setup
	@$(MAKE) --no-print-directory -j$$(nproc) all
	@echo 'micac --device cpu --optimize O3 examples/chargpt/chargpt.mica -o $(B)/chargpt'
	@$(B)/bin/micac --device cpu --optimize O3 --remarks none examples/chargpt/chargpt.mica -o $(B)/chargpt
	@rm -f $(B)/demo.safetensors
	@echo '$(B)/chargpt examples/data/shakespeare.txt $(DEMO_STEPS)'
	@$(B)/chargpt examples/data/shakespeare.txt $(DEMO_STEPS) $(B)/demo.safetensors
bench: all ## measure against C and print the table (bench/README.md)
	@bench/run.sh
