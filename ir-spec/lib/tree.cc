// Reading and printing the tree: a node a line, children indented by two spaces. Nothing here recurses, so
// that no depth of nesting meets a stack's end.
#include "spectra/tree.h"

#include <charconv>
#include <cstring>
#include <ostream>
#include <unordered_map>
#include <vector>

namespace spectra {

std::string quote(std::string_view text);                // print.cc
bool unquote(std::string_view quoted, std::string &out); // lexer.cc

namespace {

struct KindRow {
  const char *name, *atom, *children;
};
constexpr KindRow kKinds[] = {
#define NODE(kind, atom, children) {#kind, atom, children},
#include "spectra/tree_nodes.inc"
#undef NODE
};

std::string_view text_name(NodeKind kind) {
  std::string_view name = kKinds[static_cast<size_t>(kind)].name;
  if (name.ends_with('_')) name.remove_suffix(1);
  return name;
}

const NodeKind *find_kind(std::string_view name) {
  static const std::unordered_map<std::string_view, NodeKind> index = [] {
    std::unordered_map<std::string_view, NodeKind> kinds;
    for (size_t i = 0; i < std::size(kKinds); ++i)
      kinds.emplace(text_name(static_cast<NodeKind>(i)), static_cast<NodeKind>(i));
    return kinds;
  }();
  auto it = index.find(name);
  return it == index.end() ? nullptr : &it->second;
}

bool has_atom(NodeKind kind) { return kKinds[static_cast<size_t>(kind)].atom[0] != 0; }

/// What a child may be; a node's form is a sequence of these.
enum class Group : uint8_t { declaration, type, statement, expression, other };

Group group(NodeKind kind) {
  if (kind == NodeKind::import || kind == NodeKind::const_decl || kind == NodeKind::type_decl ||
      kind == NodeKind::var_decl || kind == NodeKind::procedure || kind == NodeKind::function ||
      kind == NodeKind::external)
    return Group::declaration;
  if ((kind >= NodeKind::named && kind <= NodeKind::tensor) || kind == NodeKind::array ||
      kind == NodeKind::range || kind == NodeKind::record ||
      (kind >= NodeKind::enumeration && kind <= NodeKind::function_type))
    return Group::type;
  if ((kind >= NodeKind::block && kind <= NodeKind::for_down) || kind == NodeKind::case_ ||
      (kind >= NodeKind::leave && kind <= NodeKind::empty))
    return Group::statement;
  if (kind == NodeKind::name || (kind >= NodeKind::integer && kind <= NodeKind::chain) ||
      kind >= NodeKind::negate)
    return Group::expression;
  return Group::other;
}

/// Walks a node's children against its form. Each step takes what fits and leaves the rest to the next.
struct Form {
  const Node *at;
  bool ok = true;

  bool is(NodeKind kind) const { return at && at->kind == kind; }
  bool is(Group g) const { return at && group(at->kind) == g; }
  Form &one(NodeKind kind) { return take(is(kind)); }
  Form &one(Group g) { return take(is(g)); }
  Form &maybe(NodeKind kind) {
    if (is(kind)) at = at->next;
    return *this;
  }
  Form &maybe(Group g) {
    if (is(g)) at = at->next;
    return *this;
  }
  Form &any(NodeKind kind) {
    while (is(kind)) at = at->next;
    return *this;
  }
  Form &any(Group g) {
    while (is(g)) at = at->next;
    return *this;
  }
  Form &some(NodeKind kind) { return one(kind).any(kind); }
  Form &parameters() {
    while (is(NodeKind::parameter) || is(NodeKind::var_parameter)) at = at->next;
    return *this;
  }
  Form &subscripts() { // expressions and ranges, at least one
    take(is(Group::expression) || is(NodeKind::range));
    while (is(Group::expression) || is(NodeKind::range)) at = at->next;
    return *this;
  }
  Form &take(bool fits) {
    ok &= fits;
    if (fits) at = at->next;
    return *this;
  }
  bool end() const { return ok && !at; }
};

bool form_fits(const Node &n, bool external) {
  Form f{n.first};
  switch (n.kind) {
  case NodeKind::program: return f.any(Group::declaration).one(NodeKind::block).end();
  case NodeKind::object: return f.any(NodeKind::export_).any(Group::declaration).maybe(NodeKind::block).end();
  case NodeKind::import:
  case NodeKind::export_: return f.any(NodeKind::name).end();
  case NodeKind::enumeration: return f.some(NodeKind::name).end();
  case NodeKind::const_decl:
  case NodeKind::init:
  case NodeKind::call_statement:
  case NodeKind::by:
  case NodeKind::member:
  case NodeKind::negate:
  case NodeKind::not_:
  case NodeKind::address:
  case NodeKind::value: return f.one(Group::expression).end();
  case NodeKind::type_decl:
  case NodeKind::result:
  case NodeKind::pointer:
  case NodeKind::pointer_array:
  case NodeKind::tracked:
  case NodeKind::on_gpu: return f.one(Group::type).end();
  case NodeKind::var_decl: return f.some(NodeKind::name).one(Group::type).maybe(NodeKind::init).end();
  case NodeKind::parameter:
  case NodeKind::var_parameter:
  case NodeKind::field_decl: return f.some(NodeKind::name).one(Group::type).end();
  case NodeKind::procedure:
  case NodeKind::function:
    f.parameters();
    if (n.kind == NodeKind::function) f.one(NodeKind::result);
    if (!external) f.any(Group::declaration).one(NodeKind::block);
    return f.end();
  case NodeKind::external: return n.count == 1 && (f.is(NodeKind::procedure) || f.is(NodeKind::function));
  case NodeKind::vector:
  case NodeKind::matrix:
  case NodeKind::tensor: return f.maybe(NodeKind::sizes).one(Group::type).end();
  case NodeKind::sizes: return f.one(Group::expression).any(Group::expression).end();
  case NodeKind::array: return n.count >= 2 && f.any(Group::type).end();
  case NodeKind::range:
  case NodeKind::assign: return f.one(Group::expression).one(Group::expression).end();
  case NodeKind::record: return f.any(NodeKind::field_decl).end();
  case NodeKind::like: return f.one(Group::expression).maybe(Group::type).end();
  case NodeKind::procedure_type: return f.parameters().end();
  case NodeKind::function_type: return f.parameters().one(NodeKind::result).end();
  case NodeKind::block: return f.any(Group::statement).end();
  case NodeKind::if_: return f.one(Group::expression).one(Group::statement).maybe(Group::statement).end();
  case NodeKind::while_: return f.one(Group::expression).one(Group::statement).end();
  case NodeKind::repeat: return f.one(NodeKind::block).one(Group::expression).end();
  case NodeKind::for_:
  case NodeKind::for_down:
    return f.one(Group::expression)
        .one(Group::expression)
        .one(Group::expression)
        .maybe(NodeKind::by)
        .one(Group::statement)
        .end();
  case NodeKind::case_: return f.one(Group::expression).any(NodeKind::arm).maybe(NodeKind::otherwise).end();
  case NodeKind::arm: return f.one(NodeKind::labels).one(Group::statement).end();
  case NodeKind::labels: return f.subscripts().end();
  case NodeKind::otherwise:
  case NodeKind::tape: return f.one(NodeKind::block).end();
  case NodeKind::index: return f.one(Group::expression).subscripts().end();
  case NodeKind::call: return f.one(Group::expression).any(Group::expression).end();
  case NodeKind::chain:
    f.one(Group::expression).one(NodeKind::operator_).one(Group::expression);
    while (f.is(NodeKind::operator_)) f.one(NodeKind::operator_).one(Group::expression);
    return f.end();
  case NodeKind::as: return f.one(Group::expression).one(Group::type).end();
  case NodeKind::name:
  case NodeKind::named:
  case NodeKind::leave:
  case NodeKind::break_:
  case NodeKind::continue_:
  case NodeKind::empty:
  case NodeKind::integer:
  case NodeKind::real:
  case NodeKind::unicode:
  case NodeKind::string:
  case NodeKind::operator_: return n.count == 0;
  }
  return false;
}

struct Wrong {
  std::string message;
  uint32_t line, column;
};
struct CutOff {};

class TreeReader {
public:
  TreeReader(std::string_view text, Tree &tree) : tree_(tree), text_(text) {}

  void read() {
    take_line();
    if (line_ != "spectra 1 parsed")
      fail(line_.starts_with("spectra 1 ") ? "a text of level parsed is wanted"
                                           : "this is no Spectra text: it begins with `spectra 1 LEVEL`",
           1);
    take_line();
    if (line_ != "options") fail("expected `options`", 1);
    take_line();
    std::string name;
    if (!line_.starts_with("source ") || !unquote(line_.substr(7), name))
      fail("expected `source` and a name in quotes", 1);
    tree_.sources.push_back({name, {}});
    read_nodes();
    if (line_ == "lines 0 {") {
      for (take_line(); line_ != "}"; take_line()) {
        if (!line_.starts_with('|')) fail("expected `| ` and a line of the source, or `}`", 1);
        tree_.sources[0].lines.emplace_back(line_.substr(line_.size() > 1 && line_[1] == ' ' ? 2 : 1));
      }
      take_line();
    }
    if (line_ != "end") fail("expected `end`", 1);
    if (at_ < text_.size()) {
      ++number_;
      fail("text after `end`", 1);
    }
  }

private:
  [[noreturn]] void fail(const std::string &message, size_t column) {
    throw Wrong{message, number_, static_cast<uint32_t>(column)};
  }

  void take_line() {
    if (at_ >= text_.size()) throw CutOff{};
    size_t end = text_.find('\n', at_);
    // A last line without its end is `end` or was cut off in its middle.
    if (end == std::string_view::npos) throw CutOff{};
    line_ = text_.substr(at_, end - at_);
    at_ = end + 1;
    ++number_;
  }

  void read_nodes() {
    std::vector<Node *> open;
    std::vector<uint32_t> lines;
    auto close = [&](size_t depth) {
      while (open.size() > depth) {
        bool external = open.size() > 1 && open[open.size() - 2]->is(NodeKind::external);
        if (!form_fits(*open.back(), external)) {
          number_ = lines.back();
          const KindRow &row = kKinds[static_cast<size_t>(open.back()->kind)];
          fail("`" + std::string(text_name(open.back()->kind)) + "` holds " +
                   (row.children[0] ? row.children : "nothing"),
               1);
        }
        open.pop_back();
        lines.pop_back();
      }
    };
    for (;;) {
      take_line();
      uint32_t number = number_;
      if (line_ == "end" || line_ == "lines 0 {") {
        close(0);
        number_ = number;
        if (!tree_.root) fail("expected a program or an object", 1);
        return;
      }
      size_t spaces = line_.find_first_not_of(' ');
      if (spaces == std::string_view::npos || spaces % 2)
        fail("expected a node, indented by two spaces a level", 1);
      size_t depth = spaces / 2;
      if (depth > open.size() || (depth == 0 && tree_.root))
        fail("the node is indented too far or stands beside the root", 1);
      if (depth > static_cast<size_t>(kMaxTreeDepth)) fail("nested too deeply", 1);
      close(depth);
      number_ = number;
      Node *n = read_node(spaces);
      if (depth)
        open.back()->add(n);
      else if (n->is(NodeKind::program) || n->is(NodeKind::object))
        tree_.root = n;
      else
        fail("the root is a program or an object", 1);
      open.push_back(n);
      lines.push_back(number_);
    }
  }

  Node *read_node(size_t at) {
    size_t end = line_.find(' ', at);
    std::string_view word = line_.substr(at, end == std::string_view::npos ? end : end - at);
    const NodeKind *kind = find_kind(word);
    if (!kind) fail("unknown node `" + std::string(word) + "`", at + 1);
    Node *n = tree_.node(*kind, {});
    at = end == std::string_view::npos ? line_.size() : end + 1;
    if (has_atom(*kind)) {
      if (at < line_.size() && line_[at] == '"') {
        size_t close = at + 1;
        while (close < line_.size() && line_[close] != '"') close += line_[close] == '\\' ? 2 : 1;
        std::string text;
        if (close >= line_.size() || !unquote(line_.substr(at, close + 1 - at), text))
          fail("a wrong string", at + 1);
        n->text = tree_.keep(text);
        end = close + 1;
      } else {
        end = line_.find(' ', at);
        if (end == std::string_view::npos) end = line_.size();
        n->text = line_.substr(at, end - at);
        if (n->text.empty() || n->text[0] == '!')
          fail("`" + std::string(word) + "` needs " + kKinds[static_cast<size_t>(*kind)].atom, at + 1);
        if (n->text.find('!') != std::string_view::npos)
          fail("`" + std::string(n->text) + "` stands in quotes, or a blank before its place", at + 1);
      }
      at = std::min(end + 1, line_.size());
    }
    if (at < line_.size()) read_place(*n, at);
    return n;
  }

  void read_place(Node &n, size_t at) {
    const char *from = line_.data() + at;
    const char *to = line_.data() + line_.size();
    std::from_chars_result r{from, std::errc()};
    if (*from == '!') {
      r = std::from_chars(from + 1, to, n.place.line);
      if (r.ec == std::errc() && r.ptr < to && *r.ptr == ':')
        r = std::from_chars(r.ptr + 1, to, n.place.column);
    }
    if (r.ec != std::errc() || r.ptr != to || n.place.line == 0)
      fail("expected a place, !line:column", at + 1);
  }

  Tree &tree_;
  std::string_view text_, line_;
  size_t at_ = 0;
  uint32_t number_ = 0;
};

} // namespace

const char *node_name(NodeKind kind) {
  static std::vector<std::string> names = [] {
    std::vector<std::string> out;
    for (size_t i = 0; i < std::size(kKinds); ++i) out.emplace_back(text_name(static_cast<NodeKind>(i)));
    return out;
  }();
  return names[static_cast<size_t>(kind)].c_str();
}

Node *Tree::node(NodeKind kind, Place place, std::string_view text) {
  Node *n = new (memory->allocate(sizeof(Node), alignof(Node))) Node;
  n->kind = kind;
  n->place = place;
  n->text = text;
  return n;
}

std::string_view Tree::keep(std::string_view text) {
  if (text.empty()) return {};
  char *copy = static_cast<char *>(memory->allocate(text.size(), 1));
  std::memcpy(copy, text.data(), text.size());
  return {copy, text.size()};
}

TreeResult read_tree(std::string_view text, const std::string &name, Tree &tree, std::ostream &diag_out) {
  try {
    TreeReader(tree.keep(text), tree).read();
    return TreeResult::ok;
  } catch (const Wrong &wrong) {
    diag_out << name << ':' << wrong.line << ':' << wrong.column << ": error: " << wrong.message << '\n';
    return TreeResult::wrong;
  } catch (const CutOff &) {
    return TreeResult::cut_off;
  }
}

std::string print_tree(const Tree &tree) {
  std::string out =
      "spectra 1 parsed\noptions\nsource " + quote(tree.sources.empty() ? "" : tree.sources[0].name) + "\n";
  std::vector<const Node *> path; // from the root to the node's parent
  const Node *n = tree.root;
  while (n) {
    out.append(path.size() * 2, ' ');
    out += text_name(n->kind);
    if (has_atom(n->kind)) {
      out += ' ';
      bool bare = !n->text.empty() && n->text[0] != '"' && n->kind != NodeKind::string;
      for (char c : n->text) bare &= static_cast<unsigned char>(c) > 0x20 && c != 0x7F && c != '!';
      out += bare ? std::string(n->text) : quote(n->text);
    }
    if (n->place) out += " !" + std::to_string(n->place.line) + ":" + std::to_string(n->place.column);
    out += '\n';
    if (n->first) {
      path.push_back(n);
      n = n->first;
      continue;
    }
    while (n && !n->next) { // up to the next node that has a sibling; the root has none
      n = path.empty() ? nullptr : path.back();
      if (n) path.pop_back();
    }
    if (n) n = n->next;
  }
  if (!tree.sources.empty() && !tree.sources[0].lines.empty()) {
    out += "lines 0 {\n";
    for (const std::string &line : tree.sources[0].lines) {
      out += line.empty() ? "|" : "| ";
      out += line;
      out += '\n';
    }
    out += "}\n";
  }
  return out + "end\n";
}

} // namespace spectra
