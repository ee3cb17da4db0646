// Diagnostics: one class for errors in source programs and in Spectra texts, so that every stage speaks
// alike.
//
//   model.mica:41:17: error: product needs inner sizes to agree: 64 and 32
//     41 |   y := x * w;
//        |          ^
//     hint: w is [32, 10]; transpose it, or declare x as [batch, 32]
//
// A Diag collects; it prints at once, in the order of the calls, and counts. Columns count code points
// from 1.
#pragma once
#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

namespace spectra {

/// A position in a source file. `file` indexes the list of sources of the text; line 0 means "no place".
struct Place {
  uint32_t file = 0;
  uint32_t line = 0;
  uint32_t column = 0;
  explicit operator bool() const { return line != 0; }
  friend bool operator==(const Place &, const Place &) = default;
};

/// One source file as the texts carry it: its name as the user gave it, and its lines for the caret display.
struct SourceFile {
  std::string name;
  std::vector<std::string> lines; ///< without line ends; may be empty where the text was stripped
};

enum class Severity { error, warning, note };

class Diag {
public:
  /// `sources` may grow after construction; it must outlive the Diag. Messages go to `out`.
  Diag(const std::vector<SourceFile> &sources, std::ostream &out) : sources_(sources), out_(out) {}

  void error(Place place, std::string_view message, std::string_view hint = {});
  void warning(Place place, std::string_view message, std::string_view hint = {});
  void note(Place place, std::string_view message);

  /// Errors after this many are counted but not printed; the summary line says so.
  static constexpr int kShownErrors = 100;

  int errors() const { return errors_; }
  int warnings() const { return warnings_; }

private:
  void print(Severity severity, Place place, std::string_view message, std::string_view hint);
  const std::vector<SourceFile> &sources_;
  std::ostream &out_;
  int errors_ = 0;
  int warnings_ = 0;
};

/// The name nearest to `name` among `candidates` for "did you mean", or empty where none is near enough.
std::string nearest_name(std::string_view name, const std::vector<std::string> &candidates);

} // namespace spectra
