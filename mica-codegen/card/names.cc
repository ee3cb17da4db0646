// Kernels' names in the PTX text, as a profiler shows them: number, source file, line, and what is computed.
#include "device.h"
#include "spectra/ops.h"

namespace mica::codegen {
namespace {

/// A profiler's column is narrow.
constexpr size_t kNamedOps = 3;

bool is_telling(OpCode code) {
  return code != OpCode::yield && code != OpCode::const_ && code != OpCode::zeros && code != OpCode::filled &&
         code != OpCode::broadcast && code != OpCode::reshape && code != OpCode::cast &&
         code != OpCode::select;
}

} // namespace

std::string plain_name(std::string_view text) {
  std::string out;
  for (char c : text.substr(text.rfind('/') + 1)) {
    bool fits = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    out += fits ? c : '_';
  }
  return out;
}

std::string card_name(Card &card, const spectra::Kernel &kernel, const char *suffix) {
  // mica-fuse calls it k3_softmax: the place goes between, so that a list by name is in the program's order.
  std::string own = plain_name(kernel.name);
  size_t number = std::min(own.find('_'), own.size());
  std::string name = own.substr(0, number), what = own.substr(number);
  Place place = kernel.places.empty() ? Place{} : kernel.places[0];
  const std::vector<spectra::SourceFile> &sources = card.device.spectra.sources;
  if (place.file < sources.size()) name += "_" + plain_name(sources[place.file].name);
  if (place) name += "_" + std::to_string(place.line);
  if (what.empty()) {
    std::vector<std::string> said;
    if (kernel.form != spectra::KernelForm::map) said.push_back(spectra::form_name(kernel.form));
    for (const Op *op : kernel.body->ops) {
      std::string verb = spectra::info(op->code).name;
      if (said.size() < kNamedOps && is_telling(op->code) &&
          std::find(said.begin(), said.end(), verb) == said.end())
        said.push_back(verb);
    }
    if (said.empty()) said.push_back(spectra::form_name(kernel.form));
    for (const std::string &verb : said) what += "_" + verb;
  }
  name += what + suffix;
  std::string unique = name;
  for (int i = 2; !card.names.insert(unique).second; ++i) unique = name + "_" + std::to_string(i);
  return unique;
}

} // namespace mica::codegen
