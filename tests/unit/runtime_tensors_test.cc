// Saved values: round trips, files as numpy writes them, and every way a file can be wrong.
#include "runtime_program.h"

namespace {
using testing::ExitedWithCode;

struct Model {
  std::vector<float> w = {1, 2, 3, 4, 5, -0.0f};
  std::vector<uint16_t> h = {0x3F80, 0x7FC1, 1};
  int64_t step = 77;
  double lowest = 0.1;
  mica_random r = {42, 1ull << 40};
  uint8_t flag = 1;
  int64_t w_sizes[2] = {2, 3}, h_sizes[1] = {3};
  std::vector<mica_tensor> tensors() {
    return {{"model.layers.1.W", MICA_F32, 2, w_sizes, w.data(), 0, 0},
            {"h \"β\"", MICA_BF16, 1, h_sizes, h.data(), 0, 0},
            {"step", MICA_I64, 0, nullptr, &step, 0, 0},
            {"lowest", MICA_F64, 0, nullptr, &lowest, 0, 0},
            {"r", MICA_RANDOM, 0, nullptr, &r, 0, 0},
            {"flag", MICA_BOOL, 0, nullptr, &flag, 0, 0}};
  }
};

void save(const std::string &path, std::vector<mica_tensor> t) {
  mica_save_tensors("a.mica", 1, text(path), static_cast<int64_t>(t.size()), t.data());
}
void load(const std::string &path, std::vector<mica_tensor> t) {
  mica_load_tensors("a.mica", 2, text(path), static_cast<int64_t>(t.size()), t.data());
}

TEST(Safetensors, RoundTrip) {
  TestFile file(".safetensors");
  Model a, b;
  save(file.path, a.tensors());
  b.w.assign(6, 9);
  b.h.assign(3, 9);
  b.step = b.flag = 0;
  b.lowest = 0;
  b.r = {};
  std::vector<mica_tensor> t = b.tensors();
  std::reverse(t.begin(), t.end()); // by name, in any order
  load(file.path, t);
  EXPECT_EQ(memcmp(a.w.data(), b.w.data(), 24), 0);
  EXPECT_EQ(a.h, b.h);
  EXPECT_EQ(b.step, 77);
  EXPECT_EQ(b.lowest, 0.1);
  EXPECT_EQ(b.r.key, 42u);
  EXPECT_EQ(b.r.counter, 1ull << 40);
  EXPECT_EQ(b.flag, 1);
  std::string bytes = file.read();
  uint64_t header = 0;
  memcpy(&header, bytes.data(), 8);
  EXPECT_EQ((header + 8) % 8, 0u);
  EXPECT_NE(bytes.find("\"r\": {\"dtype\": \"U64\", \"shape\": [2]"), std::string::npos);
}

std::string safetensors(const std::string &header, const std::string &data) {
  uint64_t length = header.size();
  return std::string(reinterpret_cast<char *>(&length), 8) + header + data;
}

TEST(Safetensors,
     OthersFiles) { // as the Python library writes them: no blanks, keys in another order, escapes
  TestFile file(".safetensors");
  file.write(safetensors(
      R"({"__metadata__":{"a":"}{\"]"},"x":{"shape":[2],"data_offsets":[4,12],"dtype":"F32"},"\u03b2":{"dtype":"I32","shape":[],"data_offsets":[0,4]}}   )",
      std::string("\x05\0\0\0\0\0\x80\x3F\0\0\0\xC0", 12)));
  float x[2] = {};
  int32_t beta = 0;
  int64_t sizes[] = {2};
  load(file.path, {{"x", MICA_F32, 1, sizes, x, 0, 0}, {"β", MICA_I32, 0, nullptr, &beta, 0, 0}});
  EXPECT_EQ(x[0], 1.0f);
  EXPECT_EQ(x[1], -2.0f);
  EXPECT_EQ(beta, 5);
}

TEST(Safetensors, WhatCanBeWrong) {
  TestFile file(".safetensors");
  float x[2] = {7, 8};
  int64_t two[] = {2}, three[] = {3};
  mica_tensor t = {"x", MICA_F32, 1, two, x, 0, 0};
  save(file.path, {t});
  std::string good = file.read();
  EXPECT_EXIT(load("/nowhere/m.safetensors", {t}), ExitedWithCode(70),
              "^a.mica:2: /nowhere/m.safetensors could not be opened: No such file");
  mica_tensor other = t;
  other.name = "y";
  EXPECT_EXIT(load(file.path, {other}), ExitedWithCode(70), "holds nothing named y");
  other = t;
  other.sizes = three;
  EXPECT_EXIT(load(file.path, {other}), ExitedWithCode(70), "x is \\[2\\] there, not \\[3\\]");
  other = t;
  other.type = MICA_F16;
  EXPECT_EXIT(load(file.path, {other}), ExitedWithCode(70), "x is F32 there, not F16 \\(float16\\)");
  EXPECT_EXIT(save("/dev/full", {t}), ExitedWithCode(70), "must end in .safetensors or .npy");
  EXPECT_EXIT(save(file.path, {t, t}), ExitedWithCode(70), "the name x stands twice");
}

TEST(Safetensors, AFailureLeavesTheOldFile) {
  TestFile file(".safetensors");
  file.write("old");
  float x[1] = {1};
  mica_tensor bad = {"x", MICA_STRING, 0, nullptr, x, 0, 0};
  EXPECT_EXIT(save(file.path, {bad}), ExitedWithCode(70), "which cannot be saved");
  EXPECT_EQ(file.read(), "old");
}

TEST(Npy, RoundTrip) {
  TestFile file(".npy");
  Model a, b;
  b.w.assign(6, 9);
  save(file.path, {a.tensors()[0]});
  load(file.path, {b.tensors()[0]});
  EXPECT_EQ(memcmp(a.w.data(), b.w.data(), 24), 0);
  std::string bytes = file.read();
  EXPECT_EQ(bytes.size(), 128u + 24);
  EXPECT_NE(bytes.find("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }"), std::string::npos);
  save(file.path, {a.tensors()[4]});
  b.r = {};
  load(file.path, {b.tensors()[4]});
  EXPECT_EQ(b.r.counter, 1ull << 40);
  EXPECT_EXIT(save(file.path, a.tensors()), ExitedWithCode(70), "a .npy file holds one value, not 6");
}

// numpy.save of numpy.arange(3, dtype='<i4'), byte for byte.
TEST(Npy, NumpysOwnFile) {
  std::string header = "{'descr': '<i4', 'fortran_order': False, 'shape': (3,), }";
  header += std::string(118 - header.size() - 1, ' ') + "\n";
  std::string bytes =
      std::string("\x93NUMPY\x01\x00\x76\x00", 10) + header + std::string("\0\0\0\0\1\0\0\0\2\0\0\0", 12);
  TestFile file(".npy"), ours(".npy");
  file.write(bytes);
  int32_t x[3] = {9, 9, 9};
  int64_t sizes[] = {3}, four[] = {4};
  mica_tensor t = {"x", MICA_I32, 1, sizes, x, 0, 0};
  load(file.path, {t});
  EXPECT_EQ(x[2], 2);
  save(ours.path, {t});
  EXPECT_EQ(ours.read(), bytes);
  mica_tensor other = t;
  other.type = MICA_F32;
  EXPECT_EXIT(load(file.path, {other}), ExitedWithCode(70), "holds <i4, not <f4 \\(float32\\)");
  other = t;
  other.sizes = four;
  EXPECT_EXIT(load(file.path, {other}), ExitedWithCode(70), "its shape is \\(3,\\), not \\(4,\\)");
  file.write(bytes.substr(0, bytes.size() - 1));
  EXPECT_EXIT(load(file.path, {t}), ExitedWithCode(70), "is cut short: 11 bytes of 12 are there");
  file.write(bytes.substr(0, 40));
  EXPECT_EXIT(load(file.path, {t}), ExitedWithCode(70), "cut short inside its header");
  file.write("no numbers at all");
  EXPECT_EXIT(load(file.path, {t}), ExitedWithCode(70), "is no .npy file");
}
} // namespace
