# Bitcode that mica-codegen links into programs: the math library for the processor (host/emit.cc) and for the
# card, and the skeletons of the card's kernels (card/ptx.cc).
    .section .rodata
    .balign 16
    .globl mica_math_x86, mica_math_x86_end
mica_math_x86:
    .incbin "math.x86.bc"
mica_math_x86_end:
    .balign 16
    .globl mica_math_nvptx, mica_math_nvptx_end
mica_math_nvptx:
    .incbin "math.nvptx.bc"
mica_math_nvptx_end:
    .balign 16
    .globl mica_device_nvptx, mica_device_nvptx_end
mica_device_nvptx:
    .incbin "device.nvptx.bc"
mica_device_nvptx_end:
    .section .note.GNU-stack,"",@progbits
