#include "spectra/diag.h"

#include <algorithm>
#include <ostream>

namespace spectra {
namespace {

/// The byte offset of code point `column` (from 1) in `line`.
size_t byte_of_column(std::string_view line, uint32_t column) {
  size_t at = 0;
  for (uint32_t seen = 1; seen < column && at < line.size(); ++seen) {
    ++at;
    while (at < line.size() && (static_cast<unsigned char>(line[at]) & 0xC0) == 0x80) ++at;
  }
  return at;
}

const char *word(Severity severity) {
  switch (severity) {
  case Severity::error: return "error";
  case Severity::warning: return "warning";
  case Severity::note: return "note";
  }
  return "error";
}

/// Lines longer than this are shown around the caret only, so that a one-line program of 10 MB stays
/// readable.
constexpr size_t kShownBytes = 160;

} // namespace

void Diag::error(Place place, std::string_view message, std::string_view hint) {
  if (++errors_ > kShownErrors) {
    if (errors_ == kShownErrors + 1) out_ << "more errors follow and are not shown\n";
    return;
  }
  print(Severity::error, place, message, hint);
}

void Diag::warning(Place place, std::string_view message, std::string_view hint) {
  ++warnings_;
  print(Severity::warning, place, message, hint);
}

void Diag::note(Place place, std::string_view message) { print(Severity::note, place, message, {}); }

void Diag::print(Severity severity, Place place, std::string_view message, std::string_view hint) {
  const SourceFile *source = place.file < sources_.size() ? &sources_[place.file] : nullptr;
  if (source) out_ << source->name << ':';
  if (place) out_ << place.line << ':' << place.column << ':';
  if (source || place) out_ << ' ';
  out_ << word(severity) << ": " << message << '\n';
  if (source && place && place.line <= source->lines.size()) {
    std::string_view line = source->lines[place.line - 1];
    size_t caret = byte_of_column(line, place.column);
    size_t begin = 0;
    if (line.size() > kShownBytes && caret > kShownBytes / 2) {
      begin = std::min(caret - kShownBytes / 2, line.size());
      while (begin < line.size() && (static_cast<unsigned char>(line[begin]) & 0xC0) == 0x80) ++begin;
    }
    size_t end = std::min(line.size(), begin + kShownBytes);
    while (end < line.size() && (static_cast<unsigned char>(line[end]) & 0xC0) == 0x80) ++end;
    std::string number = std::to_string(place.line);
    out_ << "  " << number << " | ";
    // Control bytes would move a terminal's cursor away from the caret.
    for (char c : line.substr(begin, end - begin))
      out_ << (static_cast<unsigned char>(c) < 0x20 && c != '\t' ? ' ' : c);
    out_ << '\n' << "  " << std::string(number.size(), ' ') << " | ";
    for (size_t i = begin; i < std::min(caret, end); ++i)
      if ((static_cast<unsigned char>(line[i]) & 0xC0) != 0x80) out_ << (line[i] == '\t' ? '\t' : ' ');
    out_ << "^\n";
  }
  if (!hint.empty()) out_ << "  hint: " << hint << '\n';
}

std::string nearest_name(std::string_view name, const std::vector<std::string> &candidates) {
  // Levenshtein distance, accepted up to a third of the name's length.
  std::string best;
  size_t best_distance = std::max<size_t>(1, name.size() / 3) + 1;
  std::vector<size_t> row(name.size() + 1);
  for (const std::string &candidate : candidates) {
    if (candidate.size() > name.size() + best_distance || name.size() > candidate.size() + best_distance)
      continue;
    for (size_t j = 0; j <= name.size(); ++j) row[j] = j;
    for (size_t i = 1; i <= candidate.size(); ++i) {
      size_t diagonal = row[0];
      row[0] = i;
      for (size_t j = 1; j <= name.size(); ++j) {
        size_t change = diagonal + (candidate[i - 1] != name[j - 1]);
        diagonal = row[j];
        row[j] = std::min({change, row[j] + 1, row[j - 1] + 1});
      }
    }
    if (row[name.size()] < best_distance) {
      best_distance = row[name.size()];
      best = candidate;
    }
  }
  return best;
}

} // namespace spectra
