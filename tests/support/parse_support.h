// Parsing a text inside the process, for the units of mica-parse.
#pragma once
#include "parser.h"

#include <pthread.h>
#include <sstream>

namespace mica::parse {

struct Parsed {
  int errors = 0;
  std::string messages;
  std::string text; ///< level parsed; empty where there are errors
};

inline Parsed parse(std::string_view source) {
  spectra::Tree tree;
  tree.sources.push_back({"t", {}});
  std::ostringstream messages;
  spectra::Diag diag(tree.sources, messages);
  try {
    Parser(source, tree, diag).parse_unit();
  } catch (const Fatal &) {
  }
  Parsed parsed;
  parsed.errors = diag.errors();
  parsed.messages = messages.str();
  if (!parsed.errors) parsed.text = spectra::print_tree(tree);
  return parsed;
}

/// As the program does it: on a stack with room for the deepest nesting.
inline Parsed parse_on_large_stack(std::string_view source) {
  struct Call {
    std::string_view source;
    Parsed parsed;
  } call{source, {}};
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, size_t{1} << 29);
  pthread_t thread;
  pthread_create(
      &thread, &attributes,
      [](void *argument) -> void * {
        Call *c = static_cast<Call *>(argument);
        c->parsed = parse(c->source);
        return nullptr;
      },
      &call);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
  return call.parsed;
}

/// The lines of the tree alone, without places: `body("a := 1")` gives the nodes of one statement.
inline std::string body(const std::string &statements) {
  Parsed parsed = parse("program p;\nbegin\n" + statements + "\nend.\n");
  if (parsed.errors) return parsed.messages;
  std::istringstream in(parsed.text);
  std::string out;
  for (std::string line; std::getline(in, line) && line != "lines 0 {";) {
    if (!line.starts_with("    ")) continue;
    size_t place = line.rfind(" !");
    out += line.substr(4, place == std::string::npos ? place : place - 4) + "\n";
  }
  return out;
}

} // namespace mica::parse
