#include "spectra/unicode.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <vector>

namespace spectra {
namespace {

struct Range {
  uint32_t first, last;
};
struct CombiningClass {
  uint32_t code;
  int combining;
};
struct Decomposition {
  uint32_t code, first, second;
  bool composes;
};
#include "spectra/unicode.inc"

template <size_t N> bool in_ranges(const Range (&ranges)[N], uint32_t code) {
  const Range *r = std::upper_bound(std::begin(ranges), std::end(ranges), code,
                                    [](uint32_t c, const Range &range) { return c < range.first; });
  return r != std::begin(ranges) && code <= (r - 1)->last;
}

int combining_class(uint32_t code) {
  const CombiningClass *c =
      std::lower_bound(std::begin(kClasses), std::end(kClasses), code,
                       [](const CombiningClass &row, uint32_t value) { return row.code < value; });
  return c != std::end(kClasses) && c->code == code ? c->combining : 0;
}

// Hangul syllables are composed by arithmetic (Unicode 3.12).
constexpr uint32_t kSBase = 0xAC00, kLBase = 0x1100, kVBase = 0x1161, kTBase = 0x11A7;
constexpr uint32_t kLCount = 19, kVCount = 21, kTCount = 28, kSCount = kLCount * kVCount * kTCount;

void decompose(uint32_t code, std::vector<uint32_t> &out) {
  if (code >= kSBase && code < kSBase + kSCount) {
    uint32_t s = code - kSBase;
    out.push_back(kLBase + s / (kVCount * kTCount));
    out.push_back(kVBase + s % (kVCount * kTCount) / kTCount);
    if (s % kTCount) out.push_back(kTBase + s % kTCount);
    return;
  }
  const Decomposition *d =
      std::lower_bound(std::begin(kDecompositions), std::end(kDecompositions), code,
                       [](const Decomposition &row, uint32_t value) { return row.code < value; });
  if (d == std::end(kDecompositions) || d->code != code) {
    out.push_back(code);
    return;
  }
  decompose(d->first, out);
  if (d->second) decompose(d->second, out);
}

uint32_t compose(uint32_t a, uint32_t b) {
  if (a >= kLBase && a < kLBase + kLCount && b >= kVBase && b < kVBase + kVCount)
    return kSBase + ((a - kLBase) * kVCount + (b - kVBase)) * kTCount;
  if (a >= kSBase && a < kSBase + kSCount && (a - kSBase) % kTCount == 0 && b > kTBase &&
      b < kTBase + kTCount)
    return a + (b - kTBase);
  static const std::map<std::pair<uint32_t, uint32_t>, uint32_t> pairs = [] {
    std::map<std::pair<uint32_t, uint32_t>, uint32_t> map;
    for (const Decomposition &d : kDecompositions)
      if (d.composes) map[{d.first, d.second}] = d.code;
    return map;
  }();
  auto it = pairs.find({a, b});
  return it == pairs.end() ? 0 : it->second;
}

/// The quick check of UAX #15: true where the text surely is in form C, as nearly every text is.
bool is_settled(std::string_view text) {
  int last = 0;
  for (size_t at = 0; at < text.size();) {
    uint32_t code = static_cast<unsigned char>(text[at]) < 0x80 ? static_cast<unsigned char>(text[at++])
                                                                : decode_utf8(text, at);
    if (code < 0xC0) { // no mark and nothing that joins
      last = 0;
      continue;
    }
    int combining = combining_class(code);
    if (code == kBadUtf8 || (combining && last > combining) || in_ranges(kUnsettled, code)) return false;
    last = combining;
  }
  return true;
}

} // namespace

uint32_t decode_utf8(std::string_view text, size_t &at) {
  auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  auto follows = [&](size_t i) { return (byte(i) & 0xC0) == 0x80; };
  unsigned b = byte(at);
  if (at >= text.size()) return kBadUtf8;
  if (b < 0x80) {
    ++at;
    return b;
  }
  int length = b >= 0xC2 && b < 0xE0 ? 2 : b >= 0xE0 && b < 0xF0 ? 3 : b >= 0xF0 && b < 0xF5 ? 4 : 0;
  if (!length) return kBadUtf8;
  uint32_t code = b & (0xFFu >> (length + 1));
  for (int i = 1; i < length; ++i) {
    if (!follows(at + static_cast<size_t>(i))) return kBadUtf8;
    code = code << 6 | (byte(at + static_cast<size_t>(i)) & 0x3F);
  }
  constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < kLeast[length] || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) return kBadUtf8;
  at += static_cast<size_t>(length);
  return code;
}

void append_utf8(std::string &text, uint32_t code) {
  auto push = [&](uint32_t byte) { text += static_cast<char>(byte); };
  if (code < 0x80) return push(code);
  if (code < 0x800)
    push(0xC0 | code >> 6);
  else {
    if (code < 0x10000)
      push(0xE0 | code >> 12);
    else {
      push(0xF0 | code >> 18);
      push(0x80 | (code >> 12 & 0x3F));
    }
    push(0x80 | (code >> 6 & 0x3F));
  }
  push(0x80 | (code & 0x3F));
}

bool is_name_start(uint32_t code) { return in_ranges(kStart, code); }
bool is_name_continue(uint32_t code) { return in_ranges(kContinue, code); }

std::string to_nfc(std::string_view text) {
  if (is_settled(text)) return std::string(text);
  std::vector<uint32_t> codes;
  for (size_t at = 0; at < text.size();) {
    uint32_t code = decode_utf8(text, at);
    if (code == kBadUtf8) return std::string(text); // the caller's text is none; it comes back as it is
    decompose(code, codes);
  }
  // Canonical order: stable by combining class between starters.
  for (size_t i = 0; i < codes.size();) {
    size_t j = i;
    while (j < codes.size() && combining_class(codes[j])) ++j;
    std::stable_sort(codes.begin() + static_cast<long>(i), codes.begin() + static_cast<long>(j),
                     [](uint32_t a, uint32_t b) { return combining_class(a) < combining_class(b); });
    i = j + 1;
  }
  // Composition: a mark joins the last starter unless something of its class or higher stands between.
  std::vector<uint32_t> out;
  size_t starter = 0;
  bool have_starter = false;
  int last_class = 0;
  for (uint32_t code : codes) {
    int combining = combining_class(code);
    bool adjacent = have_starter && starter + 1 == out.size();
    if (have_starter && (adjacent || (last_class != 0 && last_class < combining))) {
      if (uint32_t joined = compose(out[starter], code)) {
        out[starter] = joined;
        continue;
      }
    }
    if (combining == 0) {
      starter = out.size();
      have_starter = true;
    }
    last_class = combining;
    out.push_back(code);
  }
  std::string result;
  for (uint32_t code : out) append_utf8(result, code);
  return result;
}

} // namespace spectra
