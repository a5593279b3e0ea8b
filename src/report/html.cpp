// The offline page. This build has none yet.
#include "ergon/report.hpp"

namespace ergon::report {

Result<std::string> to_html(const Answer& /*answer*/, const Envelope& /*envelope*/) {
  return fail(Errc::kUnsupported, "this build has no HTML export", "use --export md:FILE");
}

}  // namespace ergon::report
