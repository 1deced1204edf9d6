// ForeignPage: whether a request was made by a web page of somebody else's.
//
// Where authentication is switched off, reaching the loopback address is all it takes, and a
// browser on this machine reaches it for every page it shows. Browsers tell on such a page: by
// Origin or Sec-Fetch-Site, and, when its own name was made to lead here, by Host.
//
// Threads: any number at once.
#pragma once

#include <span>
#include <string>

#include "service/http/request.h"

namespace outbox::service {

// `trusted` are origins such as "https://ui.example" that are allowed as well.
bool IsOfForeignPage(const Request& request, std::span<const std::string> trusted);

}  // namespace outbox::service
