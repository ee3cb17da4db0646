// A product of two matrices by three loops.
#include <stdio.h>
enum { N = 600 };
static double a[N][N], b[N][N], c[N][N];
int main(void) {
  for (int i = 1; i <= N; i++)
    for (int j = 1; j <= N; j++) {
      a[i - 1][j - 1] = (i * 7 + j * 3) % 11;
      b[i - 1][j - 1] = (i * 5 + j) % 13;
    }
  for (int i = 0; i < N; i++)
    for (int k = 0; k < N; k++) {
      double s = a[i][k];
      for (int j = 0; j < N; j++) c[i][j] += s * b[k][j];
    }
  double s = 0;
  for (int i = 0; i < N; i++) s += c[i][i];
  printf("%.1f\n", s);
}
