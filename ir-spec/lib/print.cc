// The canonical text of a module (SPECTRA.md 1 to 3).
#include "spectra/ops.h"
#include "spectra/text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>

namespace spectra {

std::string quote(std::string_view text) {
  static const char *digits = "0123456789abcdef";
  std::string out = "\"";
  for (char c : text) {
    unsigned char byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n')
      out += "\\n";
    else if (c == '\t')
      out += "\\t";
    else if (c == '\r')
      out += "\\r";
    else if (byte < 0x20 || byte == 0x7F) {
      out += "\\x";
      out += digits[byte >> 4];
      out += digits[byte & 15];
    } else
      out += c;
  }
  return out + '"';
}

std::string float_text(FloatBits bits, Scalar type) {
  double value;
  std::memcpy(&value, &bits.bits, sizeof value);
  if (std::isnan(value)) { // by bits: payload and sign survive
    char hex[32];
    auto end = std::to_chars(hex, hex + sizeof hex, bits.bits, 16).ptr;
    return "nan:0x" + std::string(hex, end);
  }
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char text[64];
  char *end = type == Scalar::f64 ? std::to_chars(text, text + sizeof text, value).ptr
                                  : std::to_chars(text, text + sizeof text, static_cast<float>(value)).ptr;
  std::string out(text, end);
  if (out.find_first_of(".e") == std::string::npos) out += ".0";
  return out;
}

namespace {

class Printer {
public:
  explicit Printer(const Module &module) : module_(module) {}

  std::string text() {
    header();
    for (const Record *record : module_.types.records()) print_record(*record);
    for (const Variable &v : module_.variables) {
      out_ += "var @";
      print_variable(v);
    }
    for (const Kernel *kernel : module_.kernels) print_kernel(*kernel);
    for (const Func *func : module_.funcs) print_func(*func);
    for (const Section &section : module_.sections) {
      out_ += "section " + section.kind + (section.name.empty() ? "" : " " + section.name) + " {\n";
      for (const std::string &line : section.lines) add_line(line);
      out_ += "}\n";
    }
    for (size_t i = 0; i < module_.sources.size(); ++i) {
      if (module_.sources[i].lines.empty()) continue;
      out_ += "lines " + std::to_string(i) + " {\n";
      for (const std::string &line : module_.sources[i].lines) add_line(line);
      out_ += "}\n";
    }
    out_ += "end\n";
    return std::move(out_);
  }

private:
  void add_line(const std::string &line) {
    out_ += line.empty() ? "|" : "| ";
    out_ += line;
    out_ += '\n';
  }

  void header() {
    out_ += std::string("spectra 1 ") + level_name(module_.level) + "\n";
    out_ += "options device=" + module_.options.device + " tier=" + module_.options.tier;
    if (module_.options.fp_tensor_float32) out_ += " fp_tensor_float32";
    if (module_.options.fp_half_intermediates) out_ += " fp_half_intermediates";
    out_ += "\nprogram " + module_.name + "\n";
    for (const SourceFile &source : module_.sources) out_ += "source " + quote(source.name) + "\n";
  }

  void type(const Type *t) { out_ += to_text(t); }

  void places(const List<Place> &places) {
    for (Place p : places) place(p);
  }
  void place(Place p) {
    if (!p) return;
    out_ += " !";
    if (p.file) out_ += std::to_string(p.file) + ":";
    out_ += std::to_string(p.line) + ":" + std::to_string(p.column);
  }

  void print_record(const Record &record) {
    out_ += "record " + record.name + " {";
    const char *separator = " ";
    for (const Record::Field &field : record.fields) {
      out_ += separator + field.name + " : ";
      type(field.type);
      separator = ", ";
    }
    out_ += record.fields.empty() ? "}\n" : " }\n";
  }

  void print_variable(const Variable &v) {
    out_ += v.name;
    out_ += " : ";
    type(v.type);
    if (v.first) {
      out_ += " = ";
      constant(*v.first, v.type);
    }
    place(v.place);
    out_ += '\n';
  }

  void constant(const AttrValue &value, const Type *t) {
    if (const FloatBits *f = std::get_if<FloatBits>(&value))
      out_ += float_text(*f, t ? t->scalar : Scalar::f64);
    else if (const int64_t *i = std::get_if<int64_t>(&value)) {
      if (t && t->is_bool())
        out_ += *i ? "true" : "false";
      else if (t && t->is_scalar() && t->scalar == Scalar::u64)
        out_ += std::to_string(static_cast<uint64_t>(*i));
      else
        out_ += std::to_string(*i);
    } else
      attr_value(value);
  }

  void attr_value(const AttrValue &value) {
    if (const int64_t *i = std::get_if<int64_t>(&value))
      out_ += std::to_string(*i);
    else if (const FloatBits *f = std::get_if<FloatBits>(&value))
      out_ += float_text(*f, Scalar::f64);
    else if (const std::string *s = std::get_if<std::string>(&value))
      out_ += quote(*s);
    else if (const Type *const *t = std::get_if<const Type *>(&value))
      type(*t);
    else if (const std::vector<int64_t> *list = std::get_if<std::vector<int64_t>>(&value)) {
      out_ += '[';
      for (size_t i = 0; i < list->size(); ++i) out_ += (i ? ", " : "") + std::to_string((*list)[i]);
      out_ += ']';
    } else if (const std::vector<std::string> *texts = std::get_if<std::vector<std::string>>(&value)) {
      out_ += '[';
      for (size_t i = 0; i < texts->size(); ++i) out_ += (i ? ", " : "") + quote((*texts)[i]);
      out_ += ']';
    }
  }

  void attributes(const List<Attribute> &attributes, bool skip_value) {
    std::vector<const Attribute *> sorted;
    for (const Attribute &a : attributes)
      if (!(skip_value && a.key == Attr::value)) sorted.push_back(&a);
    if (sorted.empty()) return;
    std::sort(sorted.begin(), sorted.end(),
              [](const Attribute *a, const Attribute *b) { return a->key < b->key; });
    out_ += " {";
    const char *separator = "";
    for (const Attribute *a : sorted) {
      out_ += separator;
      out_ += attr_name(a->key);
      if (!std::holds_alternative<bool>(a->value)) {
        out_ += '=';
        attr_value(a->value);
      }
      separator = ", ";
    }
    out_ += '}';
  }

  void value(const Value *v) {
    out_ += '%';
    out_ += v->name;
  }

  void path(const Op &op) {
    const Path &p = *op.path;
    if (p.base == Path::Base::pointer) {
      value(op.operands[0]);
      out_ += '^';
    } else {
      out_ += p.base == Path::Base::global ? '@' : '$';
      out_ += p.symbol;
    }
    // Fields print by name, so the type is followed along the steps.
    const Type *t = nullptr;
    if (p.base == Path::Base::global) {
      const Variable *v = module_.find_variable(p.symbol);
      t = v ? v->type : nullptr;
    } else if (p.base == Path::Base::local) {
      for (const Variable &v : func_->locals)
        if (v.name == p.symbol) t = v.type;
    } else {
      t = op.operands[0]->type;
      if (t->kind == TypeKind::pointer) t = t->element;
    }
    for (const Path::Step &step : p.steps) {
      if (step.kind == Path::Step::Kind::field) {
        bool known =
            t && t->kind == TypeKind::record && step.index < static_cast<int64_t>(t->record->fields.size());
        out_ += '.';
        out_ += known ? t->record->fields[static_cast<size_t>(step.index)].name : "?";
        t = known ? t->record->fields[static_cast<size_t>(step.index)].type : nullptr;
        continue;
      }
      out_ += '[';
      if (step.kind == Path::Step::Kind::constant)
        out_ += std::to_string(step.index);
      else
        value(op.operands[static_cast<size_t>(step.index)]);
      out_ += ']';
      t = t && (t->kind == TypeKind::array || t->kind == TypeKind::slice) ? t->element : nullptr;
    }
  }

  void arguments(const Region &region) {
    if (region.args.empty()) return;
    out_ += " (";
    for (size_t i = 0; i < region.args.size(); ++i) {
      if (i) out_ += ", ";
      value(region.args[i]);
      out_ += " : ";
      type(region.args[i]->type);
    }
    out_ += ')';
  }

  void indent() { out_.append(static_cast<size_t>(depth_) * 2, ' '); }

  void print_op(const Op &op) {
    indent();
    for (size_t i = 0; i < op.results.size(); ++i) {
      if (i) out_ += ", ";
      value(op.results[i]);
    }
    if (!op.results.empty()) out_ += " = ";
    const OpInfo &row = info(op.code);
    out_ += row.name;
    const bool is_const = op.code == OpCode::const_;
    if (row.has_symbol) {
      out_ += " @";
      out_ += op.symbol;
      out_ += '(';
    }
    const char *separator = row.has_symbol ? "" : " ";
    if (op.path) {
      out_ += separator;
      path(op);
      separator = ", ";
    }
    for (int i = 0; i < op.arg_count(); ++i) {
      out_ += separator;
      value(op.arg(i));
      separator = ", ";
    }
    if (row.has_symbol) out_ += ')';
    if (is_const) {
      out_ += ' ';
      const AttrValue *v = op.find(Attr::value);
      if (v) constant(*v, op.results.empty() ? nullptr : op.results[0]->type);
    }
    attributes(op.attributes, is_const);
    for (size_t i = 0; i < op.results.size(); ++i) {
      out_ += i ? ", " : " : ";
      type(op.results[i]->type);
    }
    for (size_t i = 0; i < op.regions.size(); ++i) {
      if (i) {
        indent();
        out_ += op.code == OpCode::while_ ? "} do" : "} else";
      }
      arguments(*op.regions[i]);
      out_ += " {\n";
      ++depth_;
      for (const Op *inner : op.regions[i]->ops) print_op(*inner);
      --depth_;
    }
    if (!op.regions.empty()) {
      indent();
      out_ += '}';
    }
    places(op.places);
    out_ += '\n';
  }

  void print_func(const Func &func) {
    func_ = &func;
    out_ += "func ";
    if (func.exported) out_ += "exported ";
    if (func.external) out_ += "external ";
    out_ += '@';
    out_ += func.name;
    out_ += '(';
    for (size_t i = 0; i < func.body->args.size(); ++i) {
      if (i) out_ += ", ";
      value(func.body->args[i]);
      out_ += " : ";
      type(func.body->args[i]->type);
    }
    out_ += ')';
    if (func.result) {
      out_ += " -> ";
      type(func.result);
    }
    if (!func.external) {
      out_ += " {\n";
      for (const Variable &v : func.locals) {
        out_ += "  local $";
        print_variable(v);
      }
      depth_ = 1;
      for (const Op *op : func.body->ops) print_op(*op);
      out_ += '}';
    }
    place(func.place);
    out_ += '\n';
    func_ = nullptr;
  }

  void print_kernel(const Kernel &k) {
    out_ += "kernel @";
    out_ += k.name;
    out_ += ' ';
    out_ += form_name(k.form);
    out_ += " [";
    for (size_t i = 0; i < k.space.size(); ++i) out_ += (i ? ", " : "") + std::to_string(k.space[i]);
    out_ += k.gpu ? "] gpu" : "] cpu";
    attributes(k.attributes, false);
    out_ += " (";
    for (size_t i = 0; i < k.body->args.size(); ++i) {
      if (i) out_ += ", ";
      if (i >= k.params.size()) out_ += "acc ";
      value(k.body->args[i]);
      out_ += " : ";
      if (i < k.params.size()) {
        type(k.params[i]);
        out_ += " as ";
      }
      type(k.body->args[i]->type);
    }
    out_ += ')';
    if (!k.results.empty()) {
      out_ += " -> (";
      for (size_t i = 0; i < k.results.size(); ++i) {
        if (i) out_ += ", ";
        type(k.results[i]);
      }
      out_ += ')';
    }
    out_ += " {\n";
    depth_ = 1;
    for (const Op *op : k.body->ops) print_op(*op);
    out_ += '}';
    places(k.places);
    out_ += '\n';
  }

  const Module &module_;
  const Func *func_ = nullptr;
  std::string out_;
  int depth_ = 0;
};

} // namespace

std::string print_module(const Module &module) {
  Module &named = const_cast<Module &>(module); // gives names to values that have none; changes nothing else
  for (Func *f : module.funcs) unique_names(named, *f->body);
  for (Kernel *k : module.kernels) unique_names(named, *k->body);
  return Printer(module).text();
}

} // namespace spectra
