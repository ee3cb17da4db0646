// What was fused, and where not, what stood in the way: for people on stderr, or as LLVM's YAML documents.
#pragma once
#include "spectra/module.h"
#include <map>

namespace mica::fuse {

struct Remark {
  enum class Kind : uint8_t { passed, missed, analysis } kind;
  std::string name; ///< "Fused", "NotFused", "Copied"
  spectra::Place place;
  std::string function;
  std::string message;
};

class Remarks {
public:
  void add(Remark remark) { list_.push_back(std::move(remark)); }
  /// One line a remark: `file:line:col: remark: message`.
  std::string as_text(const spectra::Module &module) const;
  /// LLVM's optimization record format, one document a remark.
  std::string as_yaml(const spectra::Module &module) const;

private:
  std::vector<Remark> list_;
};

} // namespace mica::fuse
