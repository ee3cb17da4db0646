// Five bodies under their gravitation, STEPS steps of a simple integrator.
#include <math.h>
#include <stdio.h>
enum { STEPS = 2000000 };
static const double kPi = 3.141592653589793, kDays = 365.24, kDt = 0.01;
typedef struct { double x, y, z, vx, vy, vz, mass; } Body;
static Body b[5];
static void put(int k, double x, double y, double z, double vx, double vy, double vz, double mass) {
  b[k] = (Body){x, y, z, vx * kDays, vy * kDays, vz * kDays, mass * 4.0 * kPi * kPi};
}
static void advance(void) {
  for (int i = 0; i <= 4; i++)
    for (int j = i + 1; j <= 4; j++) {
      double dx = b[i].x - b[j].x, dy = b[i].y - b[j].y, dz = b[i].z - b[j].z;
      double d2 = dx * dx + dy * dy + dz * dz, mag = kDt / (d2 * sqrt(d2));
      b[i].vx = b[i].vx - dx * b[j].mass * mag;
      b[i].vy = b[i].vy - dy * b[j].mass * mag;
      b[i].vz = b[i].vz - dz * b[j].mass * mag;
      b[j].vx = b[j].vx + dx * b[i].mass * mag;
      b[j].vy = b[j].vy + dy * b[i].mass * mag;
      b[j].vz = b[j].vz + dz * b[i].mass * mag;
    }
  for (int i = 0; i <= 4; i++) {
    b[i].x = b[i].x + kDt * b[i].vx;
    b[i].y = b[i].y + kDt * b[i].vy;
    b[i].z = b[i].z + kDt * b[i].vz;
  }
}
static double energy(void) {
  double e = 0.0;
  for (int i = 0; i <= 4; i++) {
    e = e + 0.5 * b[i].mass * (b[i].vx * b[i].vx + b[i].vy * b[i].vy + b[i].vz * b[i].vz);
    for (int j = i + 1; j <= 4; j++) {
      double dx = b[i].x - b[j].x, dy = b[i].y - b[j].y, dz = b[i].z - b[j].z;
      e = e - b[i].mass * b[j].mass / sqrt(dx * dx + dy * dy + dz * dz);
    }
  }
  return e;
}
int main(void) {
  put(0, 0, 0, 0, 0, 0, 0, 1);
  put(1, 4.84143144246472090, -1.16032004402742839, -0.103622044471123109, 0.00166007664274403694, 0.00769901118419740425, -0.0000690460016972063023, 0.000954791938424326609);
  put(2, 8.34336671824457987, 4.12479856412430479, -0.403523417114321381, -0.00276742510726411138, 0.00499852801234917238, 0.0000230417297573763929, 0.000285885980666130812);
  put(3, 12.8943695621391310, -15.1111514016986312, -0.223307578892655734, 0.00296460137564761618, 0.00237847173959480950, -0.0000296589568540237556, 0.0000436624404335156298);
  put(4, 15.3796971148509165, -25.9193146099879641, 0.179258772950371181, 0.00268067772490389322, 0.00162824170038242295, -0.0000951592254519715870, 0.0000515138902046611451);
  printf("%.9f\n", energy());
  for (int i = 1; i <= STEPS; i++) advance();
  printf("%.9f\n", energy());
}
