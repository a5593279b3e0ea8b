// Roofline: units and L1 follow the SM clock, L2 in part, memory only below its knee, the link
// never.
#include "roofline.hpp"

#include <algorithm>
#include <cmath>

#include "curves.hpp"

namespace ergon::model {
namespace {

// Smooth overlap: (a^3 + b^3)^(1/3) is 1.26 a where both parts take the same time, as real kernels
// near the ridge do.
struct Parts {
  double cubes = 0;
  double longest = 0;
  double sum = 0;
  void add(double value, double best, double worst) {
    cubes += value * value * value;
    longest = std::max(longest, best);
    sum += worst;
  }
};

struct Rate {
  double value, best, worst;
};

Rate rate(const Figure& peak, const MaybeFigure& share, double scale) {
  const Estimate s = share ? share->estimate : Estimate{1, 1, 1, Origin::kAssumed};
  return {peak.value() * s.value * scale, peak.estimate.high * s.high * scale,
          peak.estimate.low * s.low * scale};
}

}  // namespace

Roofline roofline(const Work& work, const Device& d, double f, double memory_scale) {
  Parts parts;
  Roofline r;
  const double core = core_speed(d, f);
  const auto add = [&](double amount, const Rate& at, double& where) {
    const double t = amount / at.value;
    parts.add(t, amount / at.best, amount / at.worst);
    where = std::max(where, t);
  };
  for (std::size_t i = 0; i < kUnits; ++i) {
    const auto& ops = work.ops[i];
    const auto& peak = d.peak_flops[i];
    if (ops && peak) add(ops->si(), rate(*peak, d.reachable_flops_share[i], core), r.core);
  }
  for (std::size_t i = 0; i < kLevels; ++i) {
    const auto& amount = work.bytes[i];
    const auto& bandwidth = d.bandwidth[i];
    if (!amount || !bandwidth) continue;
    const double bytes = amount->si();
    const Figure& bw = *bandwidth;
    const MaybeFigure& share = d.reachable_bandwidth_share[i];
    switch (static_cast<Level>(i)) {
      case Level::kL1:
        add(bytes, rate(bw, share, core), r.core);
        break;
      case Level::kL2: {
        const double a = d.behaviour.l2_core_share.value();
        add(bytes, rate(bw, share, 1 - a + a * core), a >= 0.5 ? r.core : r.memory);
        break;
      }
      case Level::kHbm: {
        const Figure& knee = d.behaviour.memory_knee_hz;
        Rate at = rate(bw, share, memory_scale);
        at.value *= memory_speed(d, f, knee.value());
        at.best *= memory_speed(d, f, knee.estimate.low);
        at.worst *= memory_speed(d, f, knee.estimate.high);
        add(bytes, at, r.memory);
        break;
      }
      case Level::kLink:
        add(bytes, rate(bw, share, 1), r.link);
        break;
    }
  }
  r.value = std::cbrt(parts.cubes);
  r.low = std::min(parts.longest, r.value);
  r.high = std::max(parts.sum, r.value);
  return r;
}

}  // namespace ergon::model
