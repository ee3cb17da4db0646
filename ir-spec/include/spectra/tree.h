// Level `parsed`: the tree of a source program, as mica-parse writes and mica-check reads it (PARSED.md).
//
// A node has a kind, at most one atom (a name, a literal, an operator), a place and children. Nodes live in
// the tree's arena; atoms are views into the text that was read or kept by the tree.
#pragma once
#include "spectra/diag.h"
#include <deque>
#include <memory>
#include <memory_resource>
#include <string>
#include <string_view>

namespace spectra {

enum class NodeKind : uint8_t {
#define NODE(kind, atom, children) kind,
#include "spectra/tree_nodes.inc"
#undef NODE
};

const char *node_name(NodeKind); ///< without the underscore of C++'s keywords

struct Node {
  NodeKind kind = NodeKind::empty;
  Place place;
  std::string_view text; ///< the atom
  Node *first = nullptr; ///< first child
  Node *last = nullptr;  ///< last child
  Node *next = nullptr;  ///< next sibling
  uint32_t count = 0;    ///< how many children

  bool is(NodeKind k) const { return kind == k; }
  /// The i-th child; null where there is none.
  Node *child(uint32_t i) const {
    Node *n = first;
    while (n && i--) n = n->next;
    return n;
  }
  void add(Node *node) {
    (last ? last->next : first) = node;
    last = node;
    ++count;
  }
  /// For `for (const Node *child : node->children())`.
  struct Children {
    struct Iterator {
      Node *node;
      Node *operator*() const { return node; }
      Iterator &operator++() {
        node = node->next;
        return *this;
      }
      bool operator!=(const Iterator &other) const { return node != other.node; }
    };
    Node *first;
    Iterator begin() const { return {first}; }
    Iterator end() const { return {nullptr}; }
  };
  Children children() const { return {first}; }
};

/// No tree is deeper: mica-parse refuses such a source at its place, the reader such a text. Chains of
/// operators are flat, so a sum of 100,000 terms is two levels deep.
inline constexpr int kMaxTreeDepth = 4000;

struct Tree {
  std::vector<SourceFile> sources; ///< exactly one, with its lines
  Node *root = nullptr;            ///< program or object

  Tree() : memory(std::make_unique<std::pmr::monotonic_buffer_resource>()) {}
  Node *node(NodeKind kind, Place place, std::string_view text = {});
  std::string_view keep(std::string_view text);
  std::unique_ptr<std::pmr::monotonic_buffer_resource> memory;
};

enum class TreeResult { ok, wrong, cut_off };

/// Reads a text of level `parsed`; an error goes to `diag_out` with its line and column in the text. The form
/// of every node (atom, number and kinds of children) is checked, so that a reader of the tree may rely on
/// tree_nodes.inc.
TreeResult read_tree(std::string_view text, const std::string &name, Tree &tree, std::ostream &diag_out);

/// The canonical text; printing what was read gives the same bytes.
std::string print_tree(const Tree &tree);

} // namespace spectra
