# The math library's bitcode, linked into every program (host/emit.cc).
    .section .rodata
    .balign 16
    .globl mica_math_x86, mica_math_x86_end
mica_math_x86:
    .incbin "math.x86.bc"
mica_math_x86_end:
    .section .note.GNU-stack,"",@progbits
