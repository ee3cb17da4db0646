# libmicart: the runtime library that every built program is linked with, and the math library as LLVM bitcode.
# Programs are linked by a C driver: no C++ library at run time, so no exceptions, no type information, no guards.
RUNTIME_SRC   := $(wildcard libmicart/host/*.cc) libmicart/math/math.cc
RUNTIME_OBJ   := $(RUNTIME_SRC:%.cc=$(B)/obj/%.o)
RUNTIME_FLAGS := -std=c++20 -O2 -g1 -fPIC -ffp-contract=off -fno-exceptions -fno-rtti -fno-threadsafe-statics \
                 -fno-stack-protector -fno-math-errno $(WARN)
RUNTIME_ARCH   = -march=x86-64-v3
MATH_FLAGS    := -std=c++20 -O2 -ffreestanding -ffp-contract=off -fno-builtin -fno-exceptions -fno-rtti -fno-math-errno $(WARN)
MATH_HEADERS  := $(wildcard libmicart/math/*.h)

# Skeletons of kernels on the card (device/), as bitcode.
DEVICE_FLAGS := --target=nvptx64-nvidia-cuda -march=sm_80 -nogpulib -nogpuinc -std=c++20 -O2 -ffreestanding \
                -ffp-contract=off -fno-builtin -fno-math-errno -fno-exceptions -fno-rtti $(WARN)
DEVICE_BC    := $(patsubst libmicart/device/%.cc,$(B)/obj/libmicart/device/%.bc,$(wildcard libmicart/device/*.cc))
LLVM_LINK    := $(shell $(LLVM_CONFIG) --bindir 2>/dev/null)/llvm-link

RUNTIME := $(B)/lib/libmicart.a $(B)/lib/math.x86.bc $(B)/lib/math.nvptx.bc $(B)/lib/device.nvptx.bc

# main.cc checks the processor, so it must run on every one; the AVX-512 clones need their own instructions.
$(B)/obj/libmicart/host/main.o $(B)/obj/libmicart/host/start.o: RUNTIME_ARCH = -march=x86-64
$(B)/obj/libmicart/host/%_avx512.o: RUNTIME_ARCH = -march=x86-64-v4 -mprefer-vector-width=512

$(B)/obj/libmicart/host/%.o: libmicart/host/%.cc
	@mkdir -p $(@D)
	$(CCACHE) $(CLANG) $(RUNTIME_FLAGS) $(RUNTIME_ARCH) -MMD -MP -c $< -o $@
$(B)/obj/libmicart/math/%.o: libmicart/math/%.cc
	@mkdir -p $(@D)
	$(CCACHE) $(CLANG) $(MATH_FLAGS) -fPIC -march=x86-64-v3 -MMD -MP -c $< -o $@

$(B)/lib/libmicart.a: $(RUNTIME_OBJ)
	@mkdir -p $(@D) && rm -f $@ && ar rcs $@ $^

$(B)/lib/math.x86.bc: libmicart/math/math.cc $(MATH_HEADERS)
	@mkdir -p $(@D)
	$(CLANG) $(MATH_FLAGS) --target=x86_64-linux-gnu -march=x86-64-v3 -Xclang -disable-llvm-passes -emit-llvm -c $< -o $@
$(B)/lib/math.nvptx.bc: libmicart/math/math.cc $(MATH_HEADERS)
	@mkdir -p $(@D)
	$(CLANG) $(MATH_FLAGS) --target=nvptx64-nvidia-cuda -march=sm_80 -nogpulib -nogpuinc -emit-llvm -c $< -o $@

$(B)/obj/libmicart/device/%.bc: libmicart/device/%.cc $(wildcard libmicart/device/*.h) $(MATH_HEADERS)
	@mkdir -p $(@D)
	$(CLANG) $(DEVICE_FLAGS) -emit-llvm -c $< -o $@
$(B)/lib/device.nvptx.bc: $(DEVICE_BC)
	@mkdir -p $(@D)
	$(LLVM_LINK) $^ -o $@

# The runtime's units see its headers, which need the baseline's instructions.
$(B)/obj/tests/unit/runtime_%.o: CPPFLAGS += -march=x86-64-v3 -ffp-contract=off

.PHONY: runtime
runtime: $(RUNTIME) ## build libmicart and the math library
