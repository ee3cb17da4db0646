// Kernels' names in the PTX text, as a profiler shows them: number, source file, line, and what is computed.
#include "device.h"
#include "spectra/ops.h"

namespace mica::codegen {
namespace {

/// A profiler's column is narrow.
constexpr size_t kNamedOps = 3;

/// Letters, digits and `_` stay; all else becomes `_`, as PTX wants it.
std::string plain(std::string_view text) {
  std::string out;
  for (char c : text) {
    bool fits = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    out += fits ? c : '_';
  }
  return out;
}

bool is_telling(OpCode code) {
  return code != OpCode::yield && code != OpCode::const_ && code != OpCode::zeros && code != OpCode::filled &&
         code != OpCode::broadcast && code != OpCode::reshape && code != OpCode::cast &&
         code != OpCode::select;
}

} // namespace

std::string card_name(Card &card, const spectra::Kernel &kernel, const char *suffix) {
  std::string name = plain(kernel.name);
  Place place = kernel.places.empty() ? Place{} : kernel.places[0];
  const std::vector<spectra::SourceFile> &sources = card.device.spectra.sources;
  if (place.file < sources.size()) {
    std::string_view file = sources[place.file].name;
    name += "_" + plain(file.substr(file.rfind('/') + 1));
  }
  if (place) name += "_" + std::to_string(place.line);
  std::vector<std::string> said;
  if (kernel.form != spectra::KernelForm::map) said.push_back(spectra::form_name(kernel.form));
  for (const Op *op : kernel.body->ops) {
    std::string what = spectra::info(op->code).name;
    if (said.size() < kNamedOps && is_telling(op->code) &&
        std::find(said.begin(), said.end(), what) == said.end())
      said.push_back(what);
  }
  if (said.empty()) said.push_back(spectra::form_name(kernel.form));
  for (const std::string &what : said) name += "_" + what;
  name += suffix;
  std::string unique = name;
  for (int i = 2; !card.names.insert(unique).second; ++i) unique = name + "_" + std::to_string(i);
  return unique;
}

} // namespace mica::codegen
