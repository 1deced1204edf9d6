#include "outbox/version.h"

namespace outbox {

std::string_view Version() noexcept { return OUTBOX_VERSION_STRING; }

}  // namespace outbox
