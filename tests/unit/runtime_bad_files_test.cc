// Files that are damaged, cut short, another program's or lie about themselves, and disks that are full: each
// is a failure in words with exit code 70, and a file that stood there before stays whole.
#include "runtime_program.h"

#include <csignal>
#include <functional>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

namespace {
struct Ending {
  int code = -1; // -1: a signal
  std::string err;
};

// What `act` does in a process of its own: 0 where it comes back. Quicker than a death test, for thousands of
// files.
Ending ending_of(const std::function<void()> &act) {
  int ends[2];
  if (pipe(ends) != 0) return {};
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], 2);
    close(ends[0]);
    act();
    _exit(0);
  }
  close(ends[1]);
  Ending ending;
  char buffer[4096];
  for (ssize_t n; (n = read(ends[0], buffer, sizeof buffer)) > 0;)
    ending.err.append(buffer, static_cast<size_t>(n));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFEXITED(status)) ending.code = WEXITSTATUS(status);
  return ending;
}

void expect_failure(const std::function<void()> &act, const std::string &words) {
  const Ending ending = ending_of(act);
  EXPECT_EQ(ending.code, 70) << ending.err;
  EXPECT_NE(ending.err.find(words), std::string::npos) << "said: " << ending.err << "not: " << words;
  EXPECT_EQ(std::count(ending.err.begin(), ending.err.end(), '\n'), 1) << ending.err;
}

// Two values: x : float32[2], n : int32.
struct Two {
  float x[2] = {1.5f, -2};
  int32_t n = 7;
  int64_t sizes[1] = {2};
  std::vector<mica_tensor> tensors() {
    return {{"x", MICA_F32, 1, sizes, x, 0, 0}, {"n", MICA_I32, 0, nullptr, &n, 0, 0}};
  }
};
void save(const std::string &path, const std::vector<mica_tensor> &t) {
  mica_save_tensors("a.mica", 1, text(path), static_cast<int64_t>(t.size()), t.data());
}
void load(const std::string &path, const std::vector<mica_tensor> &t) {
  mica_load_tensors("a.mica", 2, text(path), static_cast<int64_t>(t.size()), t.data());
}

std::string with_header(const std::string &header, const std::string &data) {
  uint64_t length = header.size();
  return std::string(reinterpret_cast<char *>(&length), 8) + header + data;
}

// A header of one or two values and twelve bytes behind it.
void expect_refused(const std::string &header, const std::string &words) {
  TestFile file(".safetensors");
  Two two;
  file.write(with_header(header, std::string(12, '\1')));
  expect_failure([&] { load(file.path, two.tensors()); }, words);
  EXPECT_EQ(two.x[0], 1.5f);
  EXPECT_EQ(two.n, 7);
}

const std::string kX = R"("x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]})";
const std::string kN = R"("n":{"dtype":"I32","shape":[],"data_offsets":[8,12]})";

TEST(BadFiles, CutAnywhere) {
  for (const char *ending : {".safetensors", ".npy"}) {
    TestFile file(ending);
    Two two;
    std::vector<mica_tensor> t = two.tensors();
    if (std::string(ending) == ".npy") t.pop_back();
    save(file.path, t);
    const std::string good = file.read();
    for (size_t cut = 0; cut < good.size(); cut++) {
      file.write(good.substr(0, cut));
      const Ending ending_here = ending_of([&] { load(file.path, t); });
      EXPECT_EQ(ending_here.code, 70) << "cut at " << cut << ": " << ending_here.err;
      EXPECT_TRUE(ending_here.err.find("cut short") != std::string::npos ||
                  ending_here.err.find("is no .npy file") != std::string::npos)
          << "cut at " << cut << ": " << ending_here.err;
    }
    file.write(good + "x");
    if (std::string(ending) == ".safetensors")
      expect_failure([&] { load(file.path, t); }, "is damaged: its values have 12 bytes, and 13 are there");
  }
}

// One bit wrong anywhere before the values: read all the same (a blank, a bit of a key that is skipped) or
// refused.
TEST(BadFiles, OneBitWrong) {
  for (const char *ending : {".safetensors", ".npy"}) {
    TestFile file(ending);
    Two two;
    std::vector<mica_tensor> t = two.tensors();
    if (std::string(ending) == ".npy") t.pop_back();
    save(file.path, t);
    const std::string good = file.read();
    int refused = 0;
    for (size_t at = 0; at + 12 < good.size(); at++)
      for (int bit = 0; bit < 8; bit += 3) {
        std::string bad = good;
        bad[at] = static_cast<char>(bad[at] ^ 1 << bit);
        file.write(bad);
        const Ending e = ending_of([&] { load(file.path, t); });
        EXPECT_TRUE(e.code == 0 || e.code == 70) << "byte " << at << " bit " << bit << ": " << e.err;
        refused += e.code == 70;
      }
    EXPECT_GT(refused, 50);
  }
}

TEST(BadFiles, HeadersThatLie) {
  Two two;
  TestFile file(".safetensors");
  file.write(with_header("{" + kN + "," + kX + "}", std::string(12, '\0')));
  EXPECT_EQ(ending_of([&] { load(file.path, two.tensors()); }).code, 0);

  expect_refused("{" + kX + R"(,"N":{"dtype":"I32","shape":[],"data_offsets":[8,12]}})",
                 "holds nothing named n; it holds N, x");
  expect_refused("{" + kX + "}", "is damaged: its values have 8 bytes, and 12 are there");
  expect_refused(R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                 R"("n":{"dtype":"I32","shape":[],"data_offsets":[4,8]}})",
                 "x and n lie on the same bytes");
  expect_refused(R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[4,12]},)"
                 R"("n":{"dtype":"I32","shape":[],"data_offsets":[2,6]}})",
                 "bytes 0 to 2 before n belong to nothing");
  expect_refused("{" + kX + R"(,"n":{"dtype":"I32","shape":[],"data_offsets":[12,16]}})",
                 "is cut short: n ends at byte 16 of the values, and 12 are there");
  expect_refused("{" + kX + R"(,"n":{"dtype":"I32","shape":[],"data_offsets":[8,9000000000000000000]}})",
                 "are not what I32 of shape [] takes");
  expect_refused("{" + kX + R"(,"n":{"dtype":"I32","shape":[],"data_offsets":[12,8]}})",
                 "bytes 12 to 8 are not what I32 of shape [] takes");
  expect_refused("{" + kX + R"(,"n":{"dtype":"I32","shape":[4611686018427387904,4],"data_offsets":[8,12]}})",
                 "are not what I32 of shape [4611686018427387904, 4] takes");
  expect_refused("{" + kX + "," + kN + "," + kX + "}", "x stands in it twice");
  expect_refused("{" + kX + R"(,"n":{"dtype":"I32","shape":[]}})", "type, shape and two offsets are wanted");
  expect_refused("{" + kX + R"(,"n":{}})", "type, shape and two offsets are wanted");
  expect_refused("{" + kX + R"(,"n":{"dtype":"I32","shape":[],"data_offsets":[8,99999999999999999999]}})",
                 "its header is damaged, or no JSON");
  expect_refused("{" + kX + R"(,"n":{"dtype":"I32","shape":[-1],"data_offsets":[8,12]}})",
                 "its header is damaged, or no JSON, at byte");
  expect_refused("{" + kX +
                     R"(,"n":{"dtype":"I32","shape":[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1],)"
                     R"("data_offsets":[8,12]}})",
                 "n has more than 16 sizes there");
}

TEST(BadFiles, WrongNameShapeOrType) {
  expect_refused("{" + kX + R"(,"n":{"dtype":"F32","shape":[],"data_offsets":[8,12]}})",
                 "n is F32 there, not I32 (int32)");
  expect_refused(R"({"x":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},)" + kN + "}",
                 "x is [2, 1] there, not [2]");
  expect_refused(R"({"X":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)" + kN + "}",
                 "holds nothing named x; it holds X, n");
  expect_refused(R"({"a":{"dtype":"U8","shape":[3],"data_offsets":[0,3]},"b":{"dtype":"U8","shape":[3],)"
                 R"("data_offsets":[3,6]},"c":{"dtype":"U8","shape":[3],"data_offsets":[6,9]},)"
                 R"("d":{"dtype":"F8_E4M3","shape":[3],"data_offsets":[9,12]}})",
                 "holds nothing named x; it holds a, b, c and 1 others");
}

TEST(BadFiles, NotJson) {
  for (const char *header :
       {"", " ", "{", "[]", "null", "{}x", "{x:1}", "{\"x\"", "{\"x\":", "{\"x\":}", "{\"x\\u12\":1}",
        "{\"x\\", "{\"x\\u0000\":1}", "{\"x\":{\"dtype\":\"F32\" \"shape\":[2]}}"})
    expect_refused(header, "its header is damaged, or no JSON, at byte ");
  expect_refused(std::string("{\"a\0\":1}", 8), "its header is damaged, or no JSON");
  expect_refused("{\"__metadata__\":" + std::string(20000, '[') + std::string(20000, ']') + "," + kX + "}",
                 "its header is damaged, or no JSON");
  expect_refused("{\"x\":" + std::string(20000, '{'), "its header is damaged, or no JSON");
  expect_refused("{}", "holds nothing named x; it holds nothing at all");
}

TEST(BadFiles, AnotherProgramsFile) {
  TestFile file(".safetensors"), array(".npy");
  Two two;
  std::vector<mica_tensor> one = {two.tensors()[0]};
  file.write("");
  expect_failure([&] { load(file.path, one); }, "is cut short: it has 0 bytes and no .safetensors header");
  file.write("PK\3\4 a zip file, such as PyTorch's own checkpoints");
  expect_failure([&] { load(file.path, one); }, "is no .safetensors file: its first eight bytes");
  file.write(std::string("\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF{}", 10));
  expect_failure([&] { load(file.path, one); }, "is no .safetensors file");
  file.write(std::string("\x00\xE1\xF5\x05\0\0\0\0{}", 10)); // the longest header that is allowed
  expect_failure([&] { load(file.path, one); }, "its header has 100000000 bytes, the file 10");
  save(array.path, one);
  file.write(array.read());
  expect_failure([&] { load(file.path, one); }, "is no .safetensors file");
  array.write("PK\3\4 a zip file, as numpy.savez writes");
  expect_failure([&] { load(array.path, one); }, "is no .npy file");
}

TEST(BadFiles, Npy) {
  TestFile file(".npy");
  Two two;
  std::vector<mica_tensor> one = {two.tensors()[0]};
  save(file.path, one);
  const std::string good = file.read();
  auto expect_npy = [&](const char *from, const char *to, const char *words) {
    std::string bad = good;
    bad.replace(bad.find(from), strlen(from), to);
    file.write(bad);
    expect_failure([&] { load(file.path, one); }, words);
  };
  expect_npy("'<f4'", "'>f4'", "holds >f4, not <f4 (float32)");
  expect_npy("'<f4'", "'|O' ", "holds |O, not <f4 (float32)");
  expect_npy("'descr'", "'DESCR'", "its header is damaged");
  expect_npy("(2,)", "(3,)", "its shape is (3,), not (2,)");
  expect_npy("(2,)", "(2, ", "its header is damaged");
  file.write(std::string("\x93NUMPY\x02\0\xFF\xFF\xFF\xFF", 12) + good);
  expect_failure([&] { load(file.path, one); }, "is cut short inside its header");
  int64_t sizes[] = {1, 2};
  mica_tensor matrix = {"x", MICA_F32, 2, sizes, two.x, 0, 0};
  save(file.path, {matrix});
  std::string bytes = file.read();
  bytes.replace(bytes.find("False"), 5, "True ");
  file.write(bytes);
  expect_failure([&] { load(file.path, {matrix}); },
                 "is in Fortran's order; save it with numpy.ascontiguousarray");
}

// A disk that is full stays the user's: what was saved before is whole, and nothing half-written lies beside
// it.
TEST(BadFiles, FullDisk) {
  for (const char *ending : {".safetensors", ".npy"}) {
    const std::string folder = testing::TempDir() + "mica_full" + std::to_string(getpid());
    ASSERT_EQ(mkdir(folder.c_str(), 0700), 0);
    const std::string path = folder + "/m" + ending;
    std::vector<float> big(100000, 1.0f);
    int64_t sizes[] = {100000};
    mica_tensor t = {"x", MICA_F32, 1, sizes, big.data(), 0, 0};
    save(path, {t});
    big[7] = 8;
    expect_failure(
        [&] {
          mica::rt::install_signal_handlers();
          rlimit limit = {100000, 100000}; // a write beyond fails as on a full disk
          setrlimit(RLIMIT_FSIZE, &limit);
          save(path, {t});
        },
        "could not be written: File too large");
    load(path, {t});
    EXPECT_EQ(big[7], 1.0f) << "the old file is whole";
    EXPECT_EQ(unlink(path.c_str()), 0);
    EXPECT_EQ(rmdir(folder.c_str()), 0) << "nothing else lies there";

    // A device that says it is full, behind a link of the right name.
    const std::string link = testing::TempDir() + "mica_dev_full" + std::to_string(getpid()) + ending;
    ASSERT_EQ(symlink("/dev/full", link.c_str()), 0);
    expect_failure([&] { save(link, {t}); }, "could not be written: No space left on device");
    unlink(link.c_str());
  }
}

TEST(BadFiles, FoldersAndPermissions) {
  Two two;
  const std::string folder = testing::TempDir() + "mica_folder" + std::to_string(getpid()) + ".npy";
  ASSERT_EQ(mkdir(folder.c_str(), 0700), 0);
  std::vector<mica_tensor> one = {two.tensors()[0]};
  expect_failure([&] { load(folder, one); }, "could not be read: Is a directory");
  expect_failure([&] { save(folder, one); }, "could not be written: Is a directory");
  expect_failure([&] { mica_load_bytes("a.mica", 3, text(folder)); }, "could not be read: Is a directory");
  expect_failure([&] { mica_load_tokens("a.mica", 3, text(folder)); }, "could not be read: Is a directory");
  rmdir(folder.c_str());
  expect_failure([&] { save("/nowhere/at/all.npy", one); }, "could not be made: No such file or directory");

  TestFile file(".npy");
  save(file.path, one);
  chmod(file.path.c_str(), 0);
  expect_failure(
      [&] {
        if (setuid(65534) != 0) _exit(1); // root may read everything
        load(file.path, one);
      },
      "could not be opened: Permission denied");
}

TEST(BadFiles, Tokens) {
  TestFile file(".bin");
  auto tokens = [&] { mica_load_tokens("a.mica", 3, text(file.path)); };
  auto header = [](int32_t magic, int32_t version, int32_t count, size_t bytes) {
    std::string s(bytes, '\0');
    memcpy(s.data(), &magic, 4);
    memcpy(s.data() + 4, &version, 4);
    memcpy(s.data() + 8, &count, 4);
    return s;
  };
  file.write("abc");
  expect_failure(tokens, "holds no tokens of two bytes: its length is 3");
  file.write(header(20240520, 1, 10, 1024 + 18));
  expect_failure(tokens, "is cut short: its header says 10 tokens, the file holds 9");
  file.write(header(20240520, 1, -5, 1024 + 18));
  expect_failure(tokens, "is cut short: its header says -5 tokens");
  file.write(header(20240520, 7, 9, 1024 + 18));
  expect_failure(tokens, "holds tokens of version 7; only version 1 (uint16) can be read");
  file.write(header(20240520, 1, 0, 1000));
  expect_failure(tokens, "is cut short: its header has 1024 bytes, the file 1000");
  file.write(header(20240520, 1, 9, 1024 + 18));
  mica_array found = mica_load_tokens("a.mica", 3, text(file.path));
  EXPECT_EQ(found.length, 9);
  file.write("");
  EXPECT_EQ(mica_load_tokens("a.mica", 3, text(file.path)).length, 0);
}
} // namespace
