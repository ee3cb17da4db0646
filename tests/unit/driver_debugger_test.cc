// A debug build in gdb: lines, variables of every kind of type by their own names, also those that an inner
// procedure reaches through its static link, and a backtrace of Mica's procedures.
#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <string>

namespace {

const char *const kProgram = R"(program debugging;
type Color = (red, green, blue);
     Point = record x, y : float64; tag : Color; end;
var i8 : int8; big : int128; f : float32; h : float16; bf : bfloat16; b : bool; a : array[1..3] of int32;
    grid : array[Color, 0..1] of float64; v : vector[3] of float32; m : matrix[2, 3] of float64; p : Point;
function Outer(n : int32, k : float64) : int32;
var local : int32;
    procedure Inner(step : int32);
    begin
        local := local + step;
        p.y := k
    end;
begin
    local := n;
    Inner(5);
    Outer := local
end;
begin
    i8 := -8; big := 1; f := 1.5; h := 0.5; bf := 2.5; b := true; a[2] := 22; grid[green, 1] := 1.25;
    v := Filled(0.5); m[1, 2] := 6.0; p.x := 0.25;
    exit := Outer(3, 0.75)
end.
)";

TEST(Debugger, ShowsAMicaProgram) {
  if (std::system("gdb --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "there is no gdb";
  const std::string folder = testing::TempDir() + "debugger." + std::to_string(getpid());
  const std::string source = folder + "/debugging.mica";
  ASSERT_EQ(std::system(("mkdir -p " + folder).c_str()), 0);
  std::ofstream(source) << kProgram;
  ASSERT_EQ(std::system(("build/bin/micac --device cpu " + source + " -o " + folder + "/program").c_str()),
            0);
  std::string command = "gdb -nx -batch -ex 'break debugging.mica:10' -ex run -ex bt -ex 'info locals' -ex "
                        "'info args' -ex next -ex 'print local'";
  for (const char *name : {"i8", "big", "f", "h", "bf", "b", "a", "grid", "v", "m", "p"})
    command += std::string(" -ex 'print ") + name + "'";
  command += " " + folder + "/program > " + folder + "/said 2>&1";
  ASSERT_EQ(std::system(command.c_str()), 0);
  std::ifstream in(folder + "/said");
  const std::string said((std::istreambuf_iterator<char>(in)), {});
  size_t from = 0;
  for (const char *wanted :
       {"Outer.Inner (step=5) at ", "10\t        local := local + step;", "Outer (n=3, k=0.75) at ",
        "program.main ()", "local = 3", "k = 0.75", "step = 5", "= 8", "= -8", "= 1", "= 1.5", "= 0.5",
        "= 2.5", "= true", "= {0, 22, 0}", "= {{0, 0}, {0, 1.25}, {0, 0}}", "= {0.5, 0.5, 0.5}",
        "= {{0, 0, 0}, {0, 0, 6}}", "= {x = 0.25, y = 0, tag = 0}"}) {
    const size_t at = said.find(wanted, from);
    ASSERT_NE(at, std::string::npos) << wanted << " in\n" << said;
    from = at;
  }
  std::system(("rm -r " + folder).c_str());
}

} // namespace
