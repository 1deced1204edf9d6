#include "message/plain_json.h"

#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>

#include "base/text.h"

namespace outbox::message {
namespace {

constexpr std::size_t kDigitsMax = 300;

class Handler : public rapidjson::BaseReaderHandler<rapidjson::UTF8<>, Handler> {
 public:
  explicit Handler(std::size_t depth_max) : depth_max_(depth_max) {}

  bool Default() { return true; }
  // As it is written. Without an exponent, and this short, a double holds it.
  bool RawNumber(const char* text, rapidjson::SizeType length, bool) {
    const std::string_view number(text, length);
    return length < kDigitsMax && number.find_first_of("eE") == std::string_view::npos;
  }
  bool StartObject() { return Enter(); }
  bool EndObject(rapidjson::SizeType) { return Leave(); }
  bool StartArray() { return Enter(); }
  bool EndArray(rapidjson::SizeType) { return Leave(); }

 private:
  bool Enter() { return ++depth_ <= depth_max_; }
  bool Leave() {
    --depth_;
    return true;
  }

  const std::size_t depth_max_;
  std::size_t depth_ = 0;
};

}  // namespace

bool IsPlainJson(std::string_view text, std::size_t depth_max) {
  // The reader takes NUL for the end, and does not look for the second half of each surrogate.
  if (text.find('\0') != std::string_view::npos || text.find("\\u") != std::string_view::npos) {
    return false;
  }
  rapidjson::MemoryStream stream(text.data(), text.size());
  Handler handler(depth_max);
  const auto result =
      rapidjson::Reader().Parse<rapidjson::kParseNumbersAsStringsFlag>(stream, handler);
  return !result.IsError() && base::IsValidUtf8(text);
}

}  // namespace outbox::message
