// The picture of docs/concepts/states.md against the code: the same states, no more and no fewer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <set>
#include <string>

#include "outbox/message.h"

namespace outbox {
namespace {

using ::testing::ContainerEq;

// The states named by the arrows of the page's diagram; [*] is no state.
std::set<std::string> DrawnStates() {
  std::ifstream page(OUTBOX_DOCS "/concepts/states.md");
  const std::regex arrow(R"(^\s*(\S+) --> ([^\s:]+).*)");
  std::set<std::string> states;
  std::string line;
  for (std::smatch match; std::getline(page, line);) {
    if (!std::regex_match(line, match, arrow)) continue;
    for (const auto& name : {match[1].str(), match[2].str()}) {
      if (name != "[*]") states.insert(name);
    }
  }
  return states;
}

std::set<std::string> CodedStates() {
  std::set<std::string> states;
  for (const MessageStatus status : {MessageStatus::kPending, MessageStatus::kProcessing,
                                     MessageStatus::kDelivered, MessageStatus::kDead}) {
    // A new enumerator makes this switch, and so the build, fail: add it above and to the page.
    switch (status) {
      case MessageStatus::kPending:
      case MessageStatus::kProcessing:
      case MessageStatus::kDelivered:
      case MessageStatus::kDead: states.emplace(ToString(status));
    }
  }
  return states;
}

TEST(StatesPage, DrawsExactlyTheStatesOfTheCode) {
  EXPECT_THAT(DrawnStates(), ContainerEq(CodedStates()));
}

}  // namespace
}  // namespace outbox
