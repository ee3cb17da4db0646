// Turns ops.yaml into the tables that the library includes (ops.inc) and into the reference page (OPS.md).
//
//   gen-ops ops.yaml ops.inc OPS.md
//
// Unknown keys and malformed rows are errors: a column that nobody reads can't hide in the table.
#include <fstream>
#include <iostream>
#include <set>
#include <sstream>
#include <stdexcept>
#include <yaml-cpp/yaml.h>

namespace {

struct Row {
  std::string name, summary, rule = "explicit", kinds, attributes, role = "none", gradient = "none", adjoint,
                             example;
  std::string section;
  int min_args = 0, max_args = 0, min_results = 1, max_results = 1, min_regions = 0, max_regions = 0;
  bool path = false, symbol = false;
  unsigned levels = 0, effects = 0;
};

[[noreturn]] void fail(const std::string &name, const std::string &what) {
  throw std::runtime_error("ops.yaml: " + name + ": " + what);
}

/// C++ keywords get a trailing underscore as enumerators.
std::string identifier(const std::string &name) {
  static const std::set<std::string> keywords = {"and",   "or",    "xor",   "not",      "new",    "for",
                                                 "if",    "while", "break", "continue", "return", "switch",
                                                 "const", "bool",  "int",   "float",    "double", "explicit"};
  return keywords.count(name) ? name + "_" : name;
}

void range(const YAML::Node &node, int &low, int &high) {
  if (node.IsSequence()) {
    low = node[0].as<int>();
    high = node[1].as<int>();
  } else {
    low = high = node.as<int>();
  }
}

Row read_row(const std::string &name, const YAML::Node &node) {
  Row row;
  row.name = name;
  const std::vector<std::string> level_names = {"parsed", "checked", "grad", "fused", "target"};
  const std::vector<std::string> effect_names = {"reads", "writes", "output", "fails", "control"};
  row.levels = 0b01110;
  for (const auto &entry : node) {
    const std::string key = entry.first.as<std::string>();
    const YAML::Node &value = entry.second;
    if (key == "sum")
      row.summary = value.as<std::string>();
    else if (key == "args")
      range(value, row.min_args, row.max_args);
    else if (key == "of")
      row.kinds = value.as<std::string>();
    else if (key == "results")
      range(value, row.min_results, row.max_results);
    else if (key == "regions")
      range(value, row.min_regions, row.max_regions);
    else if (key == "type")
      row.rule = value.as<std::string>();
    else if (key == "attrs")
      row.attributes = value.as<std::string>();
    else if (key == "path")
      row.path = value.as<bool>();
    else if (key == "symbol")
      row.symbol = value.as<bool>();
    else if (key == "role")
      row.role = value.as<std::string>();
    else if (key == "grad")
      row.gradient = value.as<std::string>();
    else if (key == "adjoint")
      row.adjoint = value.as<std::string>();
    else if (key == "ex")
      row.example = value.as<std::string>();
    else if (key == "levels" || key == "effects") {
      const std::vector<std::string> &names = key == "levels" ? level_names : effect_names;
      unsigned bits = 0;
      for (const auto &word : value) {
        size_t i = 0;
        while (i < names.size() && names[i] != word.as<std::string>()) ++i;
        if (i == names.size()) fail(name, "unknown word in " + key + ": " + word.as<std::string>());
        bits |= 1u << i;
      }
      (key == "levels" ? row.levels : row.effects) = bits;
    } else {
      fail(name, "unknown key " + key);
    }
  }
  if (row.summary.empty()) fail(name, "a row needs sum, its meaning");
  if (row.example.empty()) fail(name, "a row needs ex, an example");
  if (row.gradient == "rule" && row.adjoint.empty())
    fail(name, "grad: rule needs adjoint, the rule in words");
  return row;
}

std::string quoted(const std::string &text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

std::string count_text(int low, int high) {
  if (high < 0) return std::to_string(low) + " or more";
  return low == high ? std::to_string(low) : std::to_string(low) + " to " + std::to_string(high);
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 4) {
    std::cerr << "usage: gen-ops ops.yaml ops.inc OPS.md\n";
    return 2;
  }
  try {
    std::vector<Row> rows;
    std::vector<std::string> attributes;
    std::set<std::string> rules;
    auto add_attributes = [&](const std::string &text) {
      std::istringstream words(text);
      for (std::string word; words >> word;) {
        std::string name = word.substr(0, word.find_first_of("?:"));
        if (std::find(attributes.begin(), attributes.end(), name) == attributes.end())
          attributes.push_back(name);
      }
    };
    std::string kernel_attributes;
    for (const auto &entry : YAML::LoadFile(argv[1])) {
      const std::string name = entry.first.as<std::string>();
      if (name == "kernel_attributes") {
        kernel_attributes = entry.second.as<std::string>();
        add_attributes(kernel_attributes);
        continue;
      }
      rows.push_back(read_row(name, entry.second));
      rules.insert(rows.back().rule);
      add_attributes(rows.back().attributes);
    }
    std::ofstream inc(argv[2]);
    inc << "// Generated from ir-spec/ops.yaml by ir-spec/gen/ops.cc.\n#ifdef SPECTRA_OP\n";
    for (const Row &r : rows)
      inc << "SPECTRA_OP(" << identifier(r.name) << ", " << quoted(r.name) << ", " << r.min_args << ", "
          << r.max_args << ", " << r.min_results << ", " << r.max_results << ", " << r.min_regions << ", "
          << r.max_regions << ", " << r.path << ", " << r.symbol << ", " << r.levels << ", " << r.effects
          << ", " << identifier(r.rule) << ", " << r.role << ", " << r.gradient << ", " << quoted(r.kinds)
          << ", " << quoted(r.attributes) << ", " << quoted(r.summary) << ", " << quoted(r.example) << ")\n";
    inc << "#endif\n#ifdef SPECTRA_ATTR\n";
    for (const std::string &a : attributes) inc << "SPECTRA_ATTR(" << identifier(a) << ")\n";
    inc << "#endif\n#ifdef SPECTRA_RULE\n";
    for (const std::string &r : rules) inc << "SPECTRA_RULE(" << identifier(r) << ")\n";
    inc << "#endif\n#ifdef SPECTRA_KERNEL_ATTRIBUTES\nSPECTRA_KERNEL_ATTRIBUTES(" << quoted(kernel_attributes)
        << ")\n#endif\n";

    std::ofstream page(argv[3]);
    page << "# Operations of Spectra\n\nGenerated from ops.yaml; `make update` rewrites it.\n";
    const std::vector<std::string> level_names = {"parsed", "checked", "grad", "fused", "target"};
    const std::vector<std::string> effect_names = {"reads", "writes", "output", "fails", "control"};
    for (const Row &r : rows) {
      page << "\n## " << r.name << "\n" << r.summary << ".\n\n    " << r.example << "\n\n";
      page << "Operands " << count_text(r.min_args, r.max_args) << (r.path ? " after a path" : "")
           << (r.symbol ? " after a symbol" : "") << (r.kinds.empty() ? "" : ": `" + r.kinds + "`")
           << "; results " << count_text(r.min_results, r.max_results);
      if (r.max_regions) page << "; regions " << count_text(r.min_regions, r.max_regions);
      page << "; type rule " << r.rule << ". ";
      if (!r.attributes.empty()) page << "Attributes: `" << r.attributes << "`. ";
      page << "Levels:";
      for (unsigned i = 0; i < level_names.size(); ++i)
        if (r.levels >> i & 1) page << ' ' << level_names[i];
      page << ". Effects:";
      if (!r.effects) page << " none";
      for (unsigned i = 0; i < effect_names.size(); ++i)
        if (r.effects >> i & 1) page << ' ' << effect_names[i];
      page << ". Fusion role: " << r.role << ". Gradient: " << r.gradient;
      if (!r.adjoint.empty()) page << " (" << r.adjoint << ")";
      page << ".\n";
    }
    inc.close();
    page.close();
    return inc && page ? 0 : 1;
  } catch (const std::exception &error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
