// What a test of the runtime needs in place of a generated program, and short ways to its strings.
#ifndef MICA_TESTS_RUNTIME_PROGRAM_H
#define MICA_TESTS_RUNTIME_PROGRAM_H

#include "../../libmicart/host/runtime.h"

#include <cstring>
#include <gtest/gtest.h>
#include <string>
#include <unistd.h>
#include <vector>

extern "C" {
__attribute__((weak)) extern const struct mica_program mica_program = {
    MICA_ABI, MICA_FLAGS_ALL, "test", "7.7.0", "debug", "", nullptr, 0, nullptr, 0, nullptr, 0};
__attribute__((weak)) int32_t mica_main(void) { return 0; }
}

inline mica_string text(const std::string &utf8) {
  return mica_string_from_utf8(utf8.data(), static_cast<int64_t>(utf8.size()));
}
inline std::string utf8(mica_string s) {
  int64_t length = 0;
  char *bytes = mica_string_to_utf8(s, &length);
  std::string result(bytes, static_cast<size_t>(length));
  mica_string_free_utf8(bytes);
  return result;
}

// A file of this test that goes when it ends.
struct TestFile {
  std::string path;
  explicit TestFile(const std::string &ending) {
    static int number = 0;
    path = testing::TempDir() + "mica" + std::to_string(getpid()) + "_" + std::to_string(number++) + ending;
  }
  ~TestFile() { unlink(path.c_str()); }
  void write(const std::string &bytes) const {
    FILE *out = fopen(path.c_str(), "wb");
    fwrite(bytes.data(), 1, bytes.size(), out);
    fclose(out);
  }
  std::string read() const {
    std::string bytes;
    FILE *in = fopen(path.c_str(), "rb");
    if (!in) return bytes;
    for (int c = fgetc(in); c != EOF; c = fgetc(in)) bytes.push_back(static_cast<char>(c));
    fclose(in);
    return bytes;
  }
};

#endif
