// Calls: Fibonacci by recursion.
#include <stdint.h>
#include <stdio.h>
static int64_t fib(int32_t n) {
  if (n <= 1) return n;
  return fib(n - 1) + fib(n - 2);
}
int main(void) { printf("%ld\n", fib(40)); }
