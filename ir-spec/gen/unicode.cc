// Turns Debian's Unicode tables into the arrays that ir-spec/lib/unicode.cc includes: who may stand in a
// name, and what normalization form C needs (UAX #31 and UAX #15).
//
//   gen-unicode /usr/share/unicode unicode.inc
#include <cstdint>
#include <fstream>
#include <iostream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace {

std::ifstream open_table(const std::string &path) {
  std::ifstream in(path);
  if (!in) {
    std::cerr << "gen-unicode: cannot read " << path << '\n';
    std::exit(1);
  }
  return in;
}

/// Calls `row(first, last, property, rest)` for each line `XXXX..YYYY ; Property ; rest # comment`.
template <class Row> void properties(const std::string &path, const Row &row) {
  std::ifstream in = open_table(path);
  for (std::string line; std::getline(in, line);) {
    line = line.substr(0, line.find('#'));
    size_t semicolon = line.find(';');
    if (semicolon == std::string::npos) continue;
    std::istringstream rest(line.substr(semicolon + 1));
    std::string property;
    rest >> property;
    if (!property.empty() && property.back() == ';') property.pop_back();
    size_t dots = line.find("..");
    uint32_t first = static_cast<uint32_t>(std::stoul(line, nullptr, 16));
    uint32_t last =
        dots < semicolon ? static_cast<uint32_t>(std::stoul(line.substr(dots + 2), nullptr, 16)) : first;
    row(first, last, property);
  }
}

void print_ranges(std::ofstream &out, const char *name, const std::set<uint32_t> &codes) {
  out << "constexpr Range " << name << "[] = {\n";
  for (auto it = codes.begin(); it != codes.end();) {
    uint32_t first = *it;
    uint32_t last = first;
    for (++it; it != codes.end() && *it == last + 1; ++it) last = *it;
    out << "    {" << first << ", " << last << "},\n";
  }
  out << "};\n";
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 3) {
    std::cerr << "usage: gen-unicode FOLDER unicode.inc\n";
    return 2;
  }
  const std::string folder = argv[1];
  std::set<uint32_t> start, continues, excluded, unsettled;
  properties(folder + "/DerivedCoreProperties.txt",
             [&](uint32_t first, uint32_t last, const std::string &property) {
               for (uint32_t c = first; c <= last; ++c) {
                 if (property == "XID_Start") start.insert(c);
                 if (property == "XID_Continue") continues.insert(c);
               }
             });
  properties(folder + "/DerivedNormalizationProps.txt",
             [&](uint32_t first, uint32_t last, const std::string &property) {
               for (uint32_t c = first; c <= last; ++c) {
                 if (property == "Full_Composition_Exclusion") excluded.insert(c);
                 if (property == "NFC_QC") unsettled.insert(c); // the file lists No and Maybe
               }
             });

  // UnicodeData.txt: field 3 is the combining class, field 5 a decomposition (canonical where it names no
  // <tag>).
  std::map<uint32_t, int> classes;
  std::map<uint32_t, std::vector<uint32_t>> decompositions;
  std::ifstream in = open_table(folder + "/UnicodeData.txt");
  for (std::string line; std::getline(in, line);) {
    std::vector<std::string> fields;
    std::istringstream split(line);
    for (std::string field; std::getline(split, field, ';');) fields.push_back(field);
    uint32_t code = static_cast<uint32_t>(std::stoul(fields[0], nullptr, 16));
    if (int combining = std::stoi(fields[3])) classes[code] = combining;
    if (fields[5].empty() || fields[5][0] == '<') continue;
    std::istringstream parts(fields[5]);
    for (std::string part; parts >> part;)
      decompositions[code].push_back(static_cast<uint32_t>(std::stoul(part, nullptr, 16)));
  }

  std::ofstream out(argv[2]);
  out << "// Generated from Unicode's tables by ir-spec/gen/unicode.cc.\n";
  print_ranges(out, "kStart", start);
  print_ranges(out, "kContinue", continues);
  print_ranges(out, "kUnsettled", unsettled);
  out << "constexpr CombiningClass kClasses[] = {\n";
  for (const auto &[code, combining] : classes) out << "    {" << code << ", " << combining << "},\n";
  out << "};\nconstexpr Decomposition kDecompositions[] = {\n"; // code, first, second (0: none), may compose
  for (const auto &[code, parts] : decompositions)
    out << "    {" << code << ", " << parts[0] << ", " << (parts.size() > 1 ? parts[1] : 0) << ", "
        << (parts.size() > 1 && !excluded.count(code)) << "},\n";
  out << "};\n";
  return out ? 0 : 1;
}
