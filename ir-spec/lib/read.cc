// Reads the operation levels: a recursive-descent reader over lines. It builds what is written and checks
// form and names; rules of types and levels are the verifier's.
#include "lexer.h"
#include "spectra/ops.h"
#include "spectra/text.h"

#include <charconv>
#include <cstring>
#include <ostream>
#include <unordered_map>

namespace spectra {
namespace {

constexpr int kMaxDepth = 1000;

/// Thrown at the first error: a text is made by a stage or edited at one point, so the first is the one that
/// counts.
struct Wrong {
  std::string message;
  uint32_t line, column;
};
struct CutOff {};

class Reader {
public:
  Reader(std::string_view text, Module &module) : module_(module), lex_(module.keep(text)) {}

  void read() {
    read_header();
    bool ended = false;
    while (!ended) {
      skip_newlines();
      if (lex_.at_end()) throw CutOff{};
      if (lex_.kind != Token::word) fail("expected a declaration or `end`");
      std::string_view word = lex_.text;
      if (word == "end") {
        lex_.next();
        ended = true;
      } else if (word == "source")
        read_source();
      else if (word == "record")
        read_record();
      else if (word == "var")
        read_unit_variable();
      else if (word == "func")
        read_func();
      else if (word == "kernel")
        read_kernel();
      else if (word == "section")
        read_section();
      else if (word == "lines")
        read_lines();
      else
        fail("expected a declaration or `end`, not `" + std::string(word) + "`");
    }
    skip_newlines();
    if (!lex_.at_end()) fail("text after `end`");
  }

private:
  // ---- tokens ----
  [[noreturn]] void fail(const std::string &message) {
    // A text that simply stops is cut off, whatever the reader was looking for.
    if (lex_.at_end()) throw CutOff{};
    throw Wrong{message, lex_.line, lex_.column};
  }
  void skip_newlines() {
    while (lex_.kind == Token::newline) lex_.next();
  }
  void expect(char c) {
    if (!lex_.is(c)) fail(std::string("expected `") + c + "`");
    lex_.next();
  }
  bool accept(char c) {
    if (!lex_.is(c)) return false;
    lex_.next();
    return true;
  }
  void expect_word(std::string_view w) {
    if (!lex_.is_word(w)) fail("expected `" + std::string(w) + "`");
    lex_.next();
  }
  bool accept_word(std::string_view w) {
    if (!lex_.is_word(w)) return false;
    lex_.next();
    return true;
  }
  void end_line() {
    if (lex_.kind != Token::newline) fail("expected the end of the line");
    lex_.next();
  }
  std::string_view take(Token kind, const char *what) {
    if (lex_.kind != kind) fail(std::string("expected ") + what);
    std::string_view text = lex_.text;
    lex_.next();
    return text;
  }
  int64_t take_integer() {
    std::string_view text = lex_.text;
    if (lex_.kind != Token::integer) fail("expected an integer");
    int64_t value = 0;
    std::from_chars_result r = std::from_chars(text.data(), text.data() + text.size(), value);
    if (r.ec != std::errc()) {
      uint64_t big = 0; // u64 constants keep their bits
      r = std::from_chars(text.data(), text.data() + text.size(), big);
      if (r.ec != std::errc()) fail("the integer is too large");
      value = static_cast<int64_t>(big);
    }
    lex_.next();
    return value;
  }
  FloatBits take_real(Scalar type) {
    std::string_view text = lex_.text;
    FloatBits bits;
    if (text.starts_with("nan:0x")) {
      std::from_chars_result r = std::from_chars(text.data() + 6, text.data() + text.size(), bits.bits, 16);
      if (r.ec != std::errc() || r.ptr != text.data() + text.size()) fail("not a NaN's bits");
    } else {
      double value = 0;
      std::errc error{};
      if (type == Scalar::f64)
        error = std::from_chars(text.data(), text.data() + text.size(), value).ec;
      else {
        float narrow = 0;
        error = std::from_chars(text.data(), text.data() + text.size(), narrow).ec;
        value = static_cast<double>(narrow);
      }
      if (error != std::errc()) fail("not a number of its type");
      std::memcpy(&bits.bits, &value, sizeof value);
    }
    lex_.next();
    return bits;
  }
  std::string take_string() {
    std::string out;
    if (lex_.kind != Token::string) fail("expected a string");
    if (!unquote(lex_.text, out)) fail("a wrong escape in the string");
    lex_.next();
    return out;
  }

  // ---- header ----
  void read_header() {
    if (lex_.at_end()) throw CutOff{};
    if (!lex_.is_word("spectra")) fail("this is no Spectra text: it begins with `spectra 1 LEVEL`");
    lex_.next();
    if (lex_.kind != Token::integer || lex_.text != "1") fail("this reader knows version 1 of Spectra");
    lex_.next();
    std::string_view level = take(Token::word, "a level");
    if (level == "parsed") fail("level parsed is a tree, read by mica-check alone");
    bool known = false;
    for (Level l : {Level::checked, Level::grad, Level::fused, Level::target})
      if (level == level_name(l)) {
        module_.level = l;
        known = true;
      }
    if (!known) fail("unknown level `" + std::string(level) + "`");
    end_line();
    expect_word("options");
    while (lex_.kind == Token::word) read_option();
    end_line();
    expect_word("program");
    module_.name = std::string(take(Token::word, "the program's name"));
    end_line();
  }
  void read_option() {
    std::string_view key = take(Token::word, "an option");
    if (key == "fp_tensor_float32")
      module_.options.fp_tensor_float32 = true;
    else if (key == "fp_half_intermediates")
      module_.options.fp_half_intermediates = true;
    else if (key == "device" || key == "tier") {
      expect('=');
      std::string_view value = take(Token::word, "the option's value");
      if (key == "device") {
        if (value != "cpu" && value != "gpu") fail("device is cpu or gpu");
        module_.options.device = std::string(value);
      } else {
        bool known = false;
        for (const char *tier : {"debug", "checked", "O1", "O2", "O3", "release"}) known |= value == tier;
        if (!known) fail("unknown tier `" + std::string(value) + "`");
        module_.options.tier = std::string(value);
      }
    } else
      fail("unknown option `" + std::string(key) + "`");
  }
  void read_source() {
    lex_.next();
    module_.sources.push_back({take_string(), {}});
    end_line();
  }
  std::vector<std::string> raw_lines() {
    expect('{');
    if (lex_.kind != Token::newline) fail("expected the end of the line");
    lex_.next();
    std::vector<std::string> lines;
    while (lex_.is('|')) {
      std::string_view raw = lex_.take_raw_line();
      lines.emplace_back(raw.substr(raw.size() > 1 && raw[1] == ' ' ? 2 : 1));
    }
    expect('}');
    end_line();
    return lines;
  }
  void read_lines() {
    lex_.next();
    int64_t index = take_integer();
    if (index < 0 || index >= static_cast<int64_t>(module_.sources.size())) fail("no such source");
    module_.sources[static_cast<size_t>(index)].lines = raw_lines();
  }
  void read_section() {
    lex_.next();
    Section section;
    section.kind = std::string(take(Token::word, "the section's kind"));
    // A name such as x86-64 holds bytes that no token has: everything up to the brace is the name.
    std::string name;
    while (!lex_.is('{')) {
      if (lex_.kind == Token::newline || lex_.at_end()) fail("expected `{`");
      name += lex_.text;
      lex_.next();
    }
    section.name = name;
    section.lines = raw_lines();
    module_.sections.push_back(std::move(section));
  }

  // ---- types ----
  const Type *read_type(int depth = 0) {
    if (depth > kMaxDepth) fail("types nested too deeply");
    TypeTable &types = module_.types;
    std::string_view word = take(Token::word, "a type");
    for (int i = 0; i < kScalarCount; ++i)
      if (word == scalar_name(static_cast<Scalar>(i))) return read_numeric(static_cast<Scalar>(i));
    if (word == "string") return types.string();
    if (word == "random") return types.random();
    if (word == "draw") return types.draw();
    if (word == "frame") return types.frame();
    if (word == "fn") {
      expect('(');
      std::vector<const Type *> parameters;
      if (!lex_.is(')')) do
          parameters.push_back(read_type(depth + 1));
        while (accept(','));
      expect(')');
      const Type *result = nullptr;
      if (lex_.is("->")) {
        lex_.next();
        result = read_type(depth + 1);
      }
      return types.function(std::move(parameters), result);
    }
    bool pointer = word == "ptr";
    if (!pointer && word != "slice" && word != "array" && word != "record")
      fail("unknown type `" + std::string(word) + "`");
    expect('<');
    const Type *type = nullptr;
    if (word == "record")
      type = types.record(take(Token::word, "a record's name"));
    else if (word == "array") {
      int64_t low = take_integer();
      if (!lex_.is("..")) fail("expected `..`");
      lex_.next();
      int64_t high = take_integer();
      expect(',');
      type = types.array(low, high, read_type(depth + 1));
    } else {
      const Type *element = read_type(depth + 1);
      type = pointer ? types.pointer(element) : types.slice(element);
    }
    expect('>');
    return type;
  }
  const Type *read_numeric(Scalar cell) {
    std::vector<int64_t> sizes;
    bool whole = false;
    if (lex_.is('[')) {
      whole = true;
      sizes = read_sizes(false);
      if (sizes.empty()) fail("a whole value has at least one size");
      int64_t cells = 1;
      for (int64_t size : sizes)
        if (size < 0 || __builtin_mul_overflow(cells, size ? size : 1, &cells) || cells > (int64_t{1} << 48))
          fail("the sizes are too large");
    }
    bool gpu = accept_word("gpu");
    bool tracked = accept_word("tracked");
    return whole ? module_.types.whole(cell, std::move(sizes), gpu, tracked)
                 : module_.types.scalar(cell, gpu, tracked);
  }
  std::vector<int64_t> read_sizes(bool may_be_empty) {
    std::vector<int64_t> sizes;
    expect('[');
    if (!(may_be_empty && lex_.is(']'))) do
        sizes.push_back(take_integer());
      while (accept(','));
    expect(']');
    return sizes;
  }

  // ---- declarations ----
  void read_record() {
    lex_.next();
    std::string_view name = take(Token::word, "the record's name");
    Record *record = module_.types.define(name);
    if (!record->fields.empty()) fail("record " + std::string(name) + " is there already");
    expect('{');
    if (!lex_.is('}')) do {
        std::string_view field = take(Token::word, "a field's name");
        expect(':');
        if (record->field_index(field) >= 0) fail("field " + std::string(field) + " is there already");
        record->fields.push_back({std::string(field), read_type()});
      } while (accept(','));
    expect('}');
    end_line();
  }
  Variable read_variable_rest(std::string_view name) {
    Variable v;
    v.name = name;
    if (name.find('.') != std::string_view::npos) fail("a variable's name holds no dot");
    expect(':');
    v.type = read_type();
    if (accept('=')) v.first = read_constant(v.type);
    List<Place> places(module_.memory.get());
    read_places(places);
    if (!places.empty()) v.place = places[0];
    end_line();
    return v;
  }
  void read_unit_variable() {
    lex_.next();
    std::string_view name = take(Token::symbol, "`@` and a name");
    if (module_.find_variable(name)) fail("variable @" + std::string(name) + " is there already");
    module_.variables.push_back(read_variable_rest(name));
  }
  AttrValue read_constant(const Type *type) {
    if (type && type->kind == TypeKind::string) return take_string();
    if (type && type->is_bool()) {
      bool yes = lex_.is_word("true");
      if (!yes && !lex_.is_word("false")) fail("expected true or false");
      lex_.next();
      return static_cast<int64_t>(yes);
    }
    if (type && type->is_float()) {
      if (lex_.kind != Token::real && lex_.kind != Token::integer) fail("expected a float");
      return take_real(type->scalar);
    }
    return take_integer();
  }
  void read_places(List<Place> &places) {
    while (accept('!')) {
      int64_t numbers[3];
      int count = 0;
      do {
        if (count == 3) fail("a place is !line:column or !file:line:column");
        numbers[count++] = take_integer();
      } while (accept(':'));
      if (count < 2) fail("a place is !line:column or !file:line:column");
      Place p;
      p.file = static_cast<uint32_t>(count == 3 ? numbers[0] : 0);
      p.line = static_cast<uint32_t>(numbers[count - 2]);
      p.column = static_cast<uint32_t>(numbers[count - 1]);
      if (p.line == 0) fail("lines count from 1");
      places.push_back(p);
    }
  }
  Value *define(std::string_view name, const Type *type) {
    Value *v = module_.new_value(type, name);
    if (!values_.emplace(name, v).second) fail("value %" + std::string(name) + " is defined twice");
    return v;
  }
  Value *use() {
    std::string_view name = lex_.text;
    if (lex_.kind != Token::value) fail("expected a value");
    auto it = values_.find(name);
    if (it == values_.end()) fail("no value %" + std::string(name));
    lex_.next();
    return it->second;
  }

  void read_func() {
    values_.clear();
    uint32_t line = lex_.line;
    lex_.next();
    bool exported = accept_word("exported");
    bool external = accept_word("external");
    std::string_view name = take(Token::symbol, "`@` and the function's name");
    if (module_.find_func(name)) fail("function @" + std::string(name) + " is there already");
    Func *func = module_.new_func(name);
    func_ = func;
    func->exported = exported;
    func->external = external;
    func->text_line = line;
    expect('(');
    if (!lex_.is(')')) do {
        std::string_view parameter = take(Token::value, "a parameter");
        expect(':');
        Value *v = define(parameter, read_type());
        v->region = func->body;
        func->body->args.push_back(v);
      } while (accept(','));
    expect(')');
    if (lex_.is("->")) {
      lex_.next();
      func->result = read_type();
    }
    if (!external) {
      expect('{');
      end_line();
      while (lex_.is_word("local")) {
        lex_.next();
        std::string_view local = take(Token::local, "`$` and a name");
        for (const Variable &v : func->locals)
          if (v.name == local) fail("local $" + std::string(local) + " is there already");
        func->locals.push_back(read_variable_rest(local));
      }
      read_region_body(*func->body, 0);
    }
    List<Place> places(module_.memory.get());
    read_places(places);
    if (!places.empty()) func->place = places[0];
    end_line();
    func_ = nullptr;
  }

  void read_kernel() {
    values_.clear();
    uint32_t line = lex_.line;
    lex_.next();
    std::string_view name = take(Token::symbol, "`@` and the kernel's name");
    if (module_.find_kernel(name)) fail("kernel @" + std::string(name) + " is there already");
    Kernel *k = module_.new_kernel(name);
    k->text_line = line;
    std::string_view form = take(Token::word, "the kernel's form");
    bool known = false;
    for (KernelForm f :
         {KernelForm::map, KernelForm::rows, KernelForm::reduce, KernelForm::product, KernelForm::multi})
      if (form == form_name(f)) {
        k->form = f;
        known = true;
      }
    if (!known) fail("unknown kernel form `" + std::string(form) + "`");
    k->space = read_sizes(true);
    k->gpu = lex_.is_word("gpu");
    if (!k->gpu && !lex_.is_word("cpu")) fail("expected cpu or gpu");
    lex_.next();
    if (lex_.is('{')) {
      lex_.next();
      read_attributes(k->attributes);
    }
    expect('(');
    if (!lex_.is(')')) do {
        bool accumulator = accept_word("acc");
        std::string_view parameter = take(Token::value, "a parameter");
        expect(':');
        const Type *type = read_type();
        if (!accumulator) {
          if (k->params.size() != k->body->args.size()) fail("`acc` comes last");
          k->params.push_back(type);
          expect_word("as");
          type = read_type();
        }
        Value *v = define(parameter, type);
        v->region = k->body;
        k->body->args.push_back(v);
      } while (accept(','));
    expect(')');
    if (lex_.is("->")) {
      lex_.next();
      expect('(');
      do k->results.push_back(read_type());
      while (accept(','));
      expect(')');
    }
    expect('{');
    end_line();
    read_region_body(*k->body, 0);
    read_places(k->places);
    end_line();
  }

  // ---- operations ----
  void read_region_body(Region &region, int depth) {
    if (depth > kMaxDepth) fail("regions nested too deeply");
    for (;;) {
      skip_newlines();
      if (lex_.is('}')) break;
      if (lex_.at_end()) throw CutOff{};
      region.ops.push_back(read_op(depth));
    }
    lex_.next();
  }

  Op *read_op(int depth) {
    uint32_t line = lex_.line;
    uint32_t column = lex_.column;
    result_names_.clear();
    if (lex_.kind == Token::value) {
      do result_names_.push_back(take(Token::value, "a result"));
      while (accept(','));
      expect('=');
    }
    if (lex_.kind != Token::word) fail("expected an operation");
    const OpInfo *row = find_op(lex_.text);
    if (!row) fail("unknown operation `" + std::string(lex_.text) + "`");
    lex_.next();
    Op *op = module_.new_op(row->code);
    op->text_line = line;
    op->text_column = column;
    std::vector<std::string_view> results = result_names_;
    if (row->has_symbol) {
      op->symbol = take(Token::symbol, "`@` and a name");
      expect('(');
      if (!lex_.is(')')) do
          op->operands.push_back(use());
        while (accept(','));
      expect(')');
    } else if (row->code == OpCode::const_) {
      // The type stands behind the value, so the value's token waits for it.
      return read_const(op, results);
    } else {
      bool more = true;
      if (row->has_path) {
        read_path(*op);
        more = accept(',');
      } else {
        more = lex_.kind == Token::value;
      }
      while (more) {
        op->operands.push_back(use());
        more = accept(',');
      }
    }
    if (lex_.is('{')) {
      lex_.next();
      if (lex_.kind == Token::newline) { // a region without results or arguments
        if (!results.empty()) fail("expected the results' types");
        read_regions(*op, depth);
        return finish(op);
      }
      read_attributes(op->attributes);
    }
    if (!results.empty()) {
      expect(':');
      for (size_t i = 0; i < results.size(); ++i) {
        if (i) expect(',');
        result_types_.resize(std::max(result_types_.size(), i + 1));
        result_types_[i] = read_type();
      }
    }
    std::vector<const Type *> types(result_types_.begin(),
                                    result_types_.begin() + static_cast<long>(results.size()));
    if (lex_.is('{') || lex_.is('(')) {
      Region *region = module_.new_region(op);
      read_arguments(*region);
      expect('{');
      end_line();
      read_region_body(*region, depth + 1);
      read_more_regions(*op, depth);
    }
    for (size_t i = 0; i < results.size(); ++i) {
      Value *v = define(results[i], types[i]);
      v->def = op;
      op->results.push_back(v);
    }
    return finish(op);
  }
  Op *finish(Op *op) {
    read_places(op->places);
    end_line();
    return op;
  }
  void read_regions(Op &op, int depth) { // after `{` and before its line end
    Region *region = module_.new_region(&op);
    end_line();
    read_region_body(*region, depth + 1);
    read_more_regions(op, depth);
  }
  void read_more_regions(Op &op, int depth) {
    const char *word = op.code == OpCode::while_ ? "do" : "else";
    while (accept_word(word)) {
      Region *region = module_.new_region(&op);
      read_arguments(*region);
      expect('{');
      end_line();
      read_region_body(*region, depth + 1);
    }
  }
  void read_arguments(Region &region) {
    if (!accept('(')) return;
    do {
      std::string_view name = take(Token::value, "an argument");
      expect(':');
      Value *v = define(name, read_type());
      v->region = &region;
      region.args.push_back(v);
    } while (accept(','));
    expect(')');
  }

  Op *read_const(Op *op, const std::vector<std::string_view> &results) {
    if (results.size() != 1) fail("a constant has one result");
    Token kind = lex_.kind;
    Lexer value = lex_;
    if (kind != Token::integer && kind != Token::real && kind != Token::string && kind != Token::word)
      fail("expected a constant");
    lex_.next();
    expect(':');
    const Type *type = read_type();
    Lexer after = lex_;
    lex_ = value;
    op->set(Attr::value, read_constant(type));
    lex_ = after;
    Value *v = define(results[0], type);
    v->def = op;
    op->results.push_back(v);
    return finish(op);
  }

  void read_path(Op &op) {
    Path *path = module_.new_path();
    op.path = path;
    const Type *type = nullptr;
    std::string_view fields;
    if (lex_.kind == Token::symbol || lex_.kind == Token::local) {
      path->base = lex_.kind == Token::symbol ? Path::Base::global : Path::Base::local;
      size_t dot = lex_.text.find('.');
      path->symbol = lex_.text.substr(0, dot);
      if (dot != std::string_view::npos) fields = lex_.text.substr(dot + 1);
      if (path->base == Path::Base::global) {
        const Variable *v = module_.find_variable(path->symbol);
        if (!v) fail("no unit variable @" + std::string(path->symbol));
        type = v->type;
      } else {
        if (func_)
          for (const Variable &v : func_->locals)
            if (v.name == path->symbol) type = v.type;
        if (!type) fail("no local variable $" + std::string(path->symbol));
      }
      lex_.next();
    } else {
      path->base = Path::Base::pointer;
      op.operands.push_back(use());
      type = op.operands[0]->type;
      expect('^');
      if (type->kind == TypeKind::pointer)
        type = type->element;
      else if (type->kind != TypeKind::slice)
        fail("`^` needs a pointer or a slice, not " + to_text(type));
    }
    add_fields(*path, type, fields);
    while (lex_.is('[') || lex_.is('.')) {
      if (accept('.')) {
        add_fields(*path, type, take(Token::word, "a field's name"));
        continue;
      }
      lex_.next();
      if (lex_.kind == Token::integer)
        path->steps.push_back({Path::Step::Kind::constant, take_integer()});
      else {
        path->steps.push_back({Path::Step::Kind::dynamic, static_cast<int64_t>(op.operands.size())});
        op.operands.push_back(use());
      }
      expect(']');
      if (type->kind == TypeKind::array || type->kind == TypeKind::slice)
        type = type->element;
      else if (type->is_whole())
        type =
            type->sizes.size() == 1
                ? module_.types.scalar(type->scalar, type->gpu)
                : module_.types.whole(type->scalar, {type->sizes.begin() + 1, type->sizes.end()}, type->gpu);
      else
        fail("no index into " + to_text(type));
    }
    path->operands = static_cast<int>(op.operands.size());
  }
  void add_fields(Path &path, const Type *&type, std::string_view fields) {
    while (!fields.empty()) {
      size_t dot = fields.find('.');
      std::string_view name = fields.substr(0, dot);
      fields = dot == std::string_view::npos ? std::string_view() : fields.substr(dot + 1);
      if (type->kind != TypeKind::record) fail("no fields in " + to_text(type));
      int index = type->record->field_index(name);
      if (index < 0) fail("no field " + std::string(name) + " in " + to_text(type));
      path.steps.push_back({Path::Step::Kind::field, index});
      type = type->record->fields[static_cast<size_t>(index)].type;
    }
  }

  void read_attributes(List<Attribute> &attributes) { // after `{`
    if (!lex_.is('}')) do {
        std::string_view name = take(Token::word, "an attribute");
        std::optional<Attr> key = find_attr(name);
        if (!key) fail("unknown attribute `" + std::string(name) + "`");
        for (const Attribute &a : attributes)
          if (a.key == *key) fail("attribute " + std::string(name) + " is there already");
        AttrValue value = true;
        if (accept('=')) value = read_attr_value();
        attributes.push_back({*key, std::move(value)});
      } while (accept(','));
    expect('}');
  }
  AttrValue read_attr_value() {
    if (lex_.kind == Token::integer) return take_integer();
    if (lex_.kind == Token::real) return take_real(Scalar::f64);
    if (lex_.kind == Token::string) return take_string();
    if (lex_.is('[')) {
      lex_.next();
      std::vector<int64_t> integers;
      std::vector<std::string> texts;
      if (!lex_.is(']')) do {
          if (lex_.kind == Token::string)
            texts.push_back(take_string());
          else
            integers.push_back(take_integer());
        } while (accept(','));
      expect(']');
      if (!texts.empty() && !integers.empty()) fail("a list holds integers or strings, not both");
      if (!texts.empty()) return texts;
      return integers;
    }
    return read_type();
  }

  Module &module_;
  Lexer lex_;
  Func *func_ = nullptr;
  std::unordered_map<std::string_view, Value *> values_;
  std::vector<std::string_view> result_names_;
  std::vector<const Type *> result_types_;
};

} // namespace

ReadResult read_module(std::string_view text, const std::string &name, Module &module,
                       std::ostream &diag_out) {
  try {
    Reader(text, module).read();
    return ReadResult::ok;
  } catch (const Wrong &wrong) {
    diag_out << name << ':' << wrong.line << ':' << wrong.column << ": error: " << wrong.message << '\n';
    return ReadResult::wrong;
  } catch (const CutOff &) {
    return ReadResult::cut_off;
  }
}

} // namespace spectra
