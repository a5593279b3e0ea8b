// Splits an operator's work over its kernels, and prices nothing: counts only.
#include "pieces.hpp"

#include <algorithm>
#include <string>

namespace ergon::work {
namespace {

using model::index;
using model::Known;
using model::Level;
using model::Unit;
using model::Work;
using model::WorkClass;

constexpr double kUsualTile = 128;

bool fits(const KernelName& k, Family family) {
  switch (family) {
    case Family::kGemm:
      return k.kind == WorkClass::kGemm || k.kind == WorkClass::kFused;
    case Family::kConv:
      return k.kind == WorkClass::kConv || k.kind == WorkClass::kGemm;
    case Family::kAttention:
      return k.kind == WorkClass::kAttention;
    case Family::kBandwidth:
      return k.kind != WorkClass::kGemm && k.kind != WorkClass::kConv &&
             k.kind != WorkClass::kAttention && k.kind != WorkClass::kCollective;
  }
  return false;
}

bool is_main(const KernelName& k, Family family, const Company& c) {
  if (k.role == Role::kHelper && family != Family::kBandwidth) return false;
  return fits(k, family) || (c.unknown_are_mains && k.kind == WorkClass::kUnknown);
}

/// The unit that does the work: the kernel's name where it says, else what the operands' type runs
/// on.
Unit unit_of(const KernelName& k, const OperatorWork& w) {
  if (k.unit) {
    const bool half = w.type == Type::kFloat16;
    if (half && *k.unit == Unit::kMatrixTf32) return Unit::kMatrixFp16;  // s1688 of half operands
    return *k.unit;
  }
  switch (w.type) {
    case Type::kFloat64:
      return k.tensor_cores ? Unit::kMatrixFp64 : Unit::kVectorFp64;
    case Type::kFloat16:
      return Unit::kMatrixFp16;
    case Type::kFloat8:
      return Unit::kMatrixFp8;
    case Type::kInt8:
      return Unit::kMatrixInt8;
    case Type::kInt16:
    case Type::kInt32:
    case Type::kInt64:
    case Type::kBool:
      return Unit::kInteger;
    case Type::kFloat32:
    case Type::kUnknown:
      break;
  }
  return k.tensor_cores ? Unit::kMatrixTf32 : Unit::kVectorFp32;
}

Unit vector_unit(Type type) {
  if (type == Type::kFloat64) return Unit::kVectorFp64;
  return type == Type::kUnknown || is_float(type) ? Unit::kVectorFp32 : Unit::kInteger;
}

void set_bytes(Work& w, double l1, double l2, double memory) {
  w.bytes[index(Level::kL1)] = Bytes(l1);
  w.bytes[index(Level::kL2)] = Bytes(l2);
  w.bytes[index(Level::kHbm)] = Bytes(memory);
}

/// What output tiles of tm x tn load through the caches of an m x n x k product.
double tile_traffic(const KernelName& k, const OperatorWork& w, double element) {
  if (w.m <= 0 || w.n <= 0) return 0;
  const double tm = std::min(w.m, k.tile_m > 0 ? k.tile_m : kUsualTile);
  const double tn = std::min(w.n, k.tile_n > 0 ? k.tile_n : kUsualTile);
  return w.batch * w.m * w.n * w.k * element * (1 / tm + 1 / tn);
}

struct Part {
  double share = 1;  ///< of one product
  double products = 1;
  std::string words;
};

Part part_of(const KernelName& k, const OperatorWork& w, const Company& c) {
  if (c.mains <= 1) return {1, static_cast<double>(w.products), ""};
  const std::string of = " of " + std::to_string(c.mains) + " kernels";
  if (w.products == 2 && c.data_gradients + c.weight_gradients == c.mains && c.data_gradients > 0 &&
      c.weight_gradients > 0) {
    const bool data = k.direction == Direction::kDataGradient;
    return {1.0 / (data ? c.data_gradients : c.weight_gradients), 1,
            (data ? ", data gradient, one" : ", weight gradient, one") + of};
  }
  return {1.0 / c.mains, static_cast<double>(w.products), ", one" + of + " (equal shares)"};
}

Piece by_class(const KernelName& k, std::string how) {
  Piece p;
  p.kind = k.kind;
  p.known = k.kind == WorkClass::kUnknown ? Known::kUnknown : Known::kClass;
  p.how = std::move(how);
  return p;
}

}  // namespace

Company company_of(const std::vector<const KernelName*>& kernels, Family family) {
  Company c;
  const auto count = [&] {
    c.mains = 0;
    for (const KernelName* k : kernels) {
      if (!is_main(*k, family, c)) continue;
      ++c.mains;
      if (k->direction == Direction::kDataGradient) ++c.data_gradients;
      if (k->direction == Direction::kWeightGradient) ++c.weight_gradients;
    }
  };
  count();
  if (c.mains == 0) {
    c.unknown_are_mains = true;
    count();
  }
  for (const KernelName* k : kernels) c.shortcut = std::max(c.shortcut, k->shortcut);
  return c;
}

Piece piece_of(const KernelName& k, std::string_view name, const std::optional<OperatorWork>& work,
               const Company& company, const Arguments& launch) {
  if (!work) return piece_by_name(k, launch);
  const OperatorWork& w = *work;
  if (!is_main(k, w.family, company)) return by_class(k, "helper of " + std::string(name));
  Piece p;
  p.kind = w.kind;
  const bool product = w.family != Family::kBandwidth;
  if (!product && k.kind != WorkClass::kUnknown && k.kind != WorkClass::kFused &&
      k.kind != WorkClass::kSort)
    p.kind = w.kind;
  if (product && company.shortcut == Shortcut::kFft)
    return by_class(k, std::string(name) + " by Fourier transform");
  const Part part = part_of(k, w, company);
  double flops = w.flops * part.products * part.share;
  std::string shortcut;
  if (w.family == Family::kConv && w.three_by_three && company.shortcut == Shortcut::kWinograd4) {
    flops /= 4;
    shortcut = ", Winograd F(4x4,3x3)";
  } else if (w.family == Family::kConv && w.three_by_three &&
             company.shortcut == Shortcut::kWinograd2) {
    flops /= 2.25;
    shortcut = ", Winograd F(2x2,3x3)";
  }
  const double scale = part.share * (w.products == 2 ? part.products / 2 : 1);
  const double memory = (w.read_bytes + w.write_bytes) * scale;
  Work out;
  const Unit unit = product ? unit_of(k, w) : vector_unit(w.type);
  if (flops > 0) out.ops[index(unit)] = Flops(flops);
  double cache = memory;
  if (product) {
    const double element = bytes_of(w.type) > 0 ? bytes_of(w.type) : k.element_bytes.value_or(4);
    cache = std::max(
        memory, tile_traffic(k, w, element) * part.share * part.products + w.write_bytes * scale);
  }
  set_bytes(out, cache, cache, memory);
  p.work = out;
  p.known = Known::kShapes;
  p.how = std::string(name) + " " + w.label + " " + to_string(w.type);
  if (product) p.how += std::string(" on ") + model::to_string(unit);
  p.how += shortcut + part.words;
  return p;
}

Piece piece_by_name(const KernelName& k, const Arguments& launch) {
  // PyTorch's elementwise kernels say in name and grid how many elements they touch; the last block
  // may be partly empty.
  if (k.kind == WorkClass::kElementwise && k.arrays > 0 && k.element_bytes && launch.grid > 0) {
    const double per_block = k.items_per_thread > 0
                                 ? k.items_per_thread * static_cast<double>(launch.block)
                                 : k.items_per_block;
    if (per_block > 0) {
      const double n = per_block * static_cast<double>(launch.grid);
      const double bytes = n * k.arrays * *k.element_bytes;
      Piece p;
      p.kind = k.kind;
      p.known = Known::kShapes;
      Work w;
      w.ops[index(Unit::kVectorFp32)] = Flops(n);
      set_bytes(w, bytes, bytes, bytes);
      p.work = w;
      p.how = "launch grid: " + std::to_string(static_cast<long long>(n)) + " elements of " +
              std::to_string(k.arrays) + " tensors";
      return p;
    }
  }
  return by_class(k, k.kind == WorkClass::kUnknown ? "unknown kernel" : "kernel name");
}

Piece piece_of_collective(const Arguments& launch) {
  Piece p;
  p.kind = WorkClass::kCollective;
  p.known = Known::kClass;
  p.how = "kernel name";
  if (const auto c = collective_work(launch)) {
    Work w;
    set_bytes(w, c->memory_bytes, c->memory_bytes, c->memory_bytes);
    w.bytes[index(Level::kLink)] = Bytes(c->link_bytes);
    p.work = w;
    p.how = launch.collective + " of " + std::to_string(static_cast<long long>(c->link_bytes)) +
            " bytes over links";
  }
  return p;
}

Piece piece_of_copy(std::string_view name, const Arguments& arguments) {
  std::string lower;
  for (const char c : name)
    lower.push_back(static_cast<char>(std::tolower(static_cast<unsigned char>(c))));
  const auto has = [&](std::string_view part) { return lower.find(part) != std::string::npos; };
  const bool peer = has("ptop") || has("peer");
  const bool device =
      has("dtod") || has("devicetodevice") || has("device to device") || has("device -> device");
  Piece p;
  p.kind = device && !peer ? WorkClass::kCopyDevice : WorkClass::kCopyHost;
  p.known = Known::kClass;
  p.how = "copy of unknown size";
  if (arguments.bytes && *arguments.bytes >= 0) {
    const double n = *arguments.bytes;
    Work w;
    set_bytes(w, 0, device ? 2 * n : n, device ? 2 * n : n);
    if (!device || peer) w.bytes[index(Level::kLink)] = Bytes(n);
    p.work = w;
    p.known = Known::kShapes;
    p.how = "copy of " + std::to_string(static_cast<long long>(n)) + " bytes";
  }
  return p;
}

Piece piece_of_memset(const Arguments& arguments) {
  Piece p;
  p.kind = WorkClass::kMemset;
  p.known = Known::kClass;
  p.how = "memset of unknown size";
  if (arguments.bytes && *arguments.bytes >= 0) {
    Work w;
    set_bytes(w, 0, *arguments.bytes, *arguments.bytes);
    p.work = w;
    p.known = Known::kShapes;
    p.how = "memset of " + std::to_string(static_cast<long long>(*arguments.bytes)) + " bytes";
  }
  return p;
}

}  // namespace ergon::work
