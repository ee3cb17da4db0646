// .npy (numpy/lib/format.py): "\x93NUMPY", a version, a header that is a Python dictionary, then the bytes.
// bfloat16 has no name in it and is kept as 'V2' (two raw bytes), which is also what ml_dtypes' arrays are
// saved as.
#include "tensors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

namespace mica::rt {
namespace {
const char *descr_of(int type) {
  switch (type) {
  case MICA_BOOL: return "|b1";
  case MICA_I8: return "|i1";
  case MICA_U8: return "|u1";
  case MICA_I16: return "<i2";
  case MICA_U16: return "<u2";
  case MICA_I32: return "<i4";
  case MICA_UNICODE:
  case MICA_U32: return "<u4";
  case MICA_I64: return "<i8";
  case MICA_U64:
  case MICA_RANDOM: return "<u8";
  case MICA_F16: return "<f2";
  case MICA_BF16: return "|V2";
  case MICA_F32: return "<f4";
  case MICA_F64: return "<f8";
  default: return nullptr;
  }
}

// A shape as numpy writes it: (), (3,), (2, 3).
void put_numpy_shape(Text &out, const mica_tensor &t) {
  if (t.type == MICA_RANDOM) {
    put_shape(out, t, "(", "");
    out.put(t.rank ? ", 2)" : "2,)");
    return;
  }
  put_shape(out, t, "(", t.rank == 1 ? ",)" : ")");
}

// The text of a key's value in the header's dictionary: between the colon and the comma that ends it. False
// where either is missing.
bool find_value(const char *header, const char *key, Text &out) {
  Text quoted;
  quoted.putf("'%s':", key);
  const char *at = strstr(header, quoted.zero_ended());
  if (!at) return false;
  at += quoted.length;
  while (*at == ' ') at++;
  out.length = 0;
  int depth = 0;
  for (; !(depth == 0 && (*at == ',' || *at == '}')); at++) {
    if (!*at || *at == '\n') return false;
    depth += *at == '(' ? 1 : *at == ')' ? -1 : 0;
    if (*at != ' ' && *at != '\'') out.put_char(*at);
  }
  return true;
}
} // namespace

void save_npy(Place place, mica_string path, const mica_tensor &t) {
  const char *descr = descr_of(t.type);
  if (!descr)
    mica_fail(place.file, place.line, "SaveTensors: a %s cannot be saved as .npy", type_name(t.type));
  Text header;
  header.putf("{'descr': '%s', 'fortran_order': False, 'shape': ", descr);
  put_numpy_shape(header, t);
  header.put(", }");
  header.put_repeated(' ', 63 - (10 + header.length) %
                                    64); // with its line end the header's length is a multiple of 64
  header.put_char('\n');
  Output out(place.file, place.line, path);
  u8 start[10] = {0x93,
                  'N',
                  'U',
                  'M',
                  'P',
                  'Y',
                  1,
                  0,
                  static_cast<u8>(header.length),
                  static_cast<u8>(header.length >> 8)};
  out.write(start, 10);
  out.write(header.data, header.length);
  HostBytes bytes(place, t);
  out.write(bytes.data, tensor_bytes(t));
  out.finish(true);
}

void load_npy(Place place, mica_string path, const mica_tensor &t) {
  Text name;
  name.put_string(path);
  const char *shown = name.zero_ended();
  Mapping file = map_file(place.file, place.line, shown);
  const u8 *base = static_cast<const u8 *>(file.base);
  if (file.length < 12 || memcmp(base, "\x93NUMPY", 6) != 0)
    mica_fail(place.file, place.line, "%s: is no .npy file", shown);
  i64 prefix = base[6] >= 2 ? 12 : 10;
  i64 length = base[8] | base[9] << 8;
  if (base[6] >= 2) length |= static_cast<i64>(base[10]) << 16 | static_cast<i64>(base[11]) << 24;
  if (prefix + length > file.length)
    mica_fail(place.file, place.line, "%s: is cut short inside its header", shown);
  Text header, descr, order, shape, wanted, wanted_shape;
  header.put(reinterpret_cast<const char *>(base) + prefix, length);
  if (!find_value(header.zero_ended(), "descr", descr) ||
      !find_value(header.zero_ended(), "fortran_order", order) ||
      !find_value(header.zero_ended(), "shape", shape)) {
    mica_fail(place.file, place.line, "%s: its header is damaged", shown);
  }
  const char *type = descr_of(t.type);
  if (!type)
    mica_fail(place.file, place.line, "LoadTensors: a %s cannot be loaded from .npy", type_name(t.type));
  // One byte has no order; numpy writes = nowhere but may leave | for <.
  if (descr.length < 2 || strcmp(descr.zero_ended() + 1, type + 1) != 0 || descr.data[0] == '>') {
    mica_fail(place.file, place.line, "%s: holds %s, not %s (%s)", shown, descr.zero_ended(), type,
              type_name(t.type));
  }
  put_numpy_shape(wanted, t);
  for (i64 i = 0; i < wanted.length; i++) {
    if (wanted.data[i] != ' ') wanted_shape.put_char(wanted.data[i]);
  }
  if (strcmp(shape.zero_ended(), wanted_shape.zero_ended()) != 0) {
    mica_fail(place.file, place.line, "%s: its shape is %s, not %s", shown, shape.zero_ended(),
              wanted_shape.zero_ended());
  }
  if (strcmp(order.zero_ended(), "True") == 0 && t.rank > 1) {
    mica_fail(place.file, place.line, "%s: is in Fortran's order; save it with numpy.ascontiguousarray",
              shown);
  }
  i64 bytes = tensor_bytes(t);
  if (prefix + length + bytes > file.length) {
    mica_fail(place.file, place.line, "%s: is cut short: %lld bytes of %lld are there", shown,
              static_cast<long long>(file.length - prefix - length), static_cast<long long>(bytes));
  }
  check_not_a_number(place, shown, t, base + prefix + length);
  store_tensor(place, t, base + prefix + length);
  unmap(file);
}

} // namespace mica::rt
