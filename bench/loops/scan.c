// Bytes: counts words and vowels in a text that it makes itself, R times over.
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
enum { N = 10000000, R = 10 };
int main(void) {
  uint8_t *text = calloc(N, 1);
  uint32_t seed = 12345;
  int64_t words = 0, vowels = 0;
  for (int32_t i = 0; i < N; i++) {
    seed = seed * 1664525u + 1013904223u;
    text[i] = seed >> 24 < 50 ? 32 : (uint8_t)(97 + (seed >> 16) % 26);
  }
  for (int32_t round = 1; round <= R; round++) {
    bool inside = false;
    for (int32_t i = 0; i < N; i++) {
      uint8_t c = text[i];
      if (c == 32) {
        inside = false;
        continue;
      }
      if (!inside) words++;
      inside = true;
      switch (c) {
      case 97: case 101: case 105: case 111: case 117: vowels++;
      }
    }
  }
  printf("%ld %ld\n", words, vowels);
  free(text);
}
