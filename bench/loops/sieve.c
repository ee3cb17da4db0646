// Primes below N by the sieve, R times over.
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
enum { N = 5000000, R = 10 };
static bool composite[N + 1];
int main(void) {
  int32_t count = 0;
  for (int32_t round = 1; round <= R; round++) {
    for (int32_t i = 0; i <= N; i++) composite[i] = false;
    count = 0;
    for (int32_t i = 2; i <= N; i++)
      if (!composite[i]) {
        count++;
        for (int32_t j = i + i; j <= N; j += i) composite[j] = true;
      }
  }
  printf("%d\n", count);
}
