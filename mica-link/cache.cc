#include "cache.h"

#include <array>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sys/stat.h>
#include <unistd.h>

namespace mica::link {
namespace {

/// A cached file is its own hash and a line end, then the bytes: what was cut short or damaged is not taken.
constexpr size_t kHashLength = 64;

constexpr std::array<uint32_t, 64> kRound = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

void block(std::array<uint32_t, 8> &state, const unsigned char *bytes) {
  std::array<uint32_t, 64> w;
  for (size_t i = 0; i < 16; ++i)
    w[i] = uint32_t(bytes[4 * i]) << 24 | uint32_t(bytes[4 * i + 1]) << 16 | uint32_t(bytes[4 * i + 2]) << 8 |
           bytes[4 * i + 3];
  for (size_t i = 16; i < 64; ++i) {
    uint32_t s0 = std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ w[i - 15] >> 3;
    uint32_t s1 = std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ w[i - 2] >> 10;
    w[i] = w[i - 16] + s0 + w[i - 7] + s1;
  }
  std::array<uint32_t, 8> s = state;
  for (size_t i = 0; i < 64; ++i) {
    uint32_t s1 = std::rotr(s[4], 6) ^ std::rotr(s[4], 11) ^ std::rotr(s[4], 25);
    uint32_t t1 = s[7] + s1 + ((s[4] & s[5]) ^ (~s[4] & s[6])) + kRound[i] + w[i];
    uint32_t s0 = std::rotr(s[0], 2) ^ std::rotr(s[0], 13) ^ std::rotr(s[0], 22);
    uint32_t t2 = s0 + ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
    s = {t1 + t2, s[0], s[1], s[2], s[3] + t1, s[4], s[5], s[6]};
  }
  for (size_t i = 0; i < 8; ++i) state[i] += s[i];
}

std::string read_bytes(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

} // namespace

std::string sha256(const std::string &bytes) {
  std::array<uint32_t, 8> state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                   0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  const unsigned char *data = reinterpret_cast<const unsigned char *>(bytes.data());
  size_t whole = bytes.size() / 64 * 64;
  for (size_t i = 0; i < whole; i += 64) block(state, data + i);
  std::string tail = bytes.substr(whole) + '\x80';
  while (tail.size() % 64 != 56) tail += '\0';
  for (int shift = 56; shift >= 0; shift -= 8) tail += static_cast<char>(uint64_t(bytes.size()) * 8 >> shift);
  for (size_t i = 0; i < tail.size(); i += 64)
    block(state, reinterpret_cast<const unsigned char *>(tail.data()) + i);
  char text[kHashLength + 1];
  for (size_t i = 0; i < 8; ++i) std::snprintf(text + 8 * i, 9, "%08x", state[i]);
  return text;
}

Cache::Cache(const std::string &tool) {
  const char *cache = std::getenv("XDG_CACHE_HOME");
  const char *home = std::getenv("HOME");
  if (cache && *cache)
    folder_ = std::string(cache) + "/mica";
  else if (home && *home)
    folder_ = std::string(home) + "/.cache/mica";
  struct stat status;
  if (stat(tool.c_str(), &status) == 0)
    stamp_ = std::to_string(status.st_size) + "." + std::to_string(status.st_mtime);
  std::error_code error;
  if (!folder_.empty()) std::filesystem::create_directories(folder_, error);
  if (error) folder_.clear();
}

std::string Cache::key(const std::vector<std::string> &parts) const {
  std::string all = "mica cubin 1\n" + stamp_ + "\n";
  for (const std::string &part : parts) all += std::to_string(part.size()) + ":" + part;
  return sha256(all);
}

bool Cache::fetch(const std::string &key, const std::string &path) const {
  if (folder_.empty()) return false;
  const std::string bytes = read_bytes(folder_ + "/" + key);
  if (bytes.size() <= kHashLength + 1) return false;
  const std::string content = bytes.substr(kHashLength + 1);
  if (sha256(content) != bytes.substr(0, kHashLength)) return false;
  std::ofstream out(path, std::ios::binary);
  out << content;
  out.close();
  return !out.fail();
}

void Cache::store(const std::string &key, const std::string &path) const {
  if (folder_.empty()) return;
  const std::string content = read_bytes(path);
  if (content.empty()) return;
  const std::string final_path = folder_ + "/" + key, beside = final_path + ".tmp" + std::to_string(getpid());
  std::ofstream out(beside, std::ios::binary);
  out << sha256(content) << '\n' << content;
  out.close();
  std::error_code error;
  if (!out.fail()) std::filesystem::rename(beside, final_path, error);
  if (out.fail() || error) std::filesystem::remove(beside, error);
}

} // namespace mica::link
