// Texts without places, for tests and for comparing by eye. It works on the bytes, so broken texts can be
// stripped too.
#include "spectra/text.h"

namespace spectra {
namespace {

bool digit(char c) { return c >= '0' && c <= '9'; }

/// The line without the places at its end: ` !7:12`, ` !1:7:12`, several. A string ends with a quote, so no
/// place is mistaken.
std::string_view without_places(std::string_view line) {
  for (;;) {
    size_t at = line.size();
    int colons = 0;
    bool digits = false;
    while (at > 0 && (digit(line[at - 1]) || (line[at - 1] == ':' && digits))) {
      digits = digit(line[at - 1]);
      colons += !digits;
      --at;
    }
    if (!digits || colons < 1 || colons > 2 || at < 2 || line[at - 1] != '!' || line[at - 2] != ' ')
      return line;
    line = line.substr(0, at - 2);
  }
}

} // namespace

std::string strip_text(std::string_view text) {
  std::string result;
  bool source = false; // inside `lines N {`
  for (size_t at = 0; at < text.size();) {
    size_t end = text.find('\n', at);
    const bool ended = end != std::string_view::npos;
    if (!ended) end = text.size();
    std::string_view line = text.substr(at, end - at);
    at = end + 1;
    if (line.starts_with("lines ") && line.ends_with(" {")) source = true;
    if (source) {
      if (line == "}") source = false;
      continue;
    }
    result += line.starts_with("| ") ? line : without_places(line);
    if (ended) result += '\n';
  }
  return result;
}

} // namespace spectra
