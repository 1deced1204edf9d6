// A program with the mistake its argument names, for sanitizers to find.
#include <climits>
#include <string_view>

int main(int argc, char** argv) {
  const std::string_view mistake = argc > 1 ? argv[1] : "";
  if (mistake == "use-after-free") {
    char* volatile text = new char[8];
    delete[] text;
    return text[1];
  }
  if (mistake == "overflow") {
    volatile int number = INT_MAX;
    number = number + argc;
  }
  if (mistake == "leak") {
    char* volatile text = new char[8];
    text = nullptr;
  }
  return 0;
}
