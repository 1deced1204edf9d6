# Compiler settings that every target of this project shares, as the interface target outbox_flags.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE RelWithDebInfo)
endif()
# -O2 -g is what Debian ships; NDEBUG is left out on purpose: OUTBOX_CHECK does not depend on it.
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g1")
set(CMAKE_CXX_FLAGS_DEBUG "-O1 -g1")

# Decided once: a build folder whose compile commands change is compiled anew.
find_program(CCACHE ccache)
if(CCACHE)
  option(OUTBOX_CCACHE "Compile through ccache" ON)
else()
  option(OUTBOX_CCACHE "Compile through ccache" OFF)
endif()
if(OUTBOX_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # What ccache needs to know to work with precompiled headers.
  set(CMAKE_CXX_COMPILER_LAUNCHER
    ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE})
  add_compile_options(-fpch-preprocess)
endif()

# Some sixty binaries are linked: lld takes a third of the time. The compiler may use memory before it
# looks for garbage in it.
find_program(LLD ld.lld)
if(LLD)
  add_link_options(-fuse-ld=lld)
endif()
add_compile_options($<$<CXX_COMPILER_ID:GNU>:--param=ggc-min-heapsize=524288>)

add_library(outbox_flags INTERFACE)
target_compile_options(outbox_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Werror
  # NewMessage is made for designated initialisers that leave most fields out.
  -Wno-missing-field-initializers)
target_compile_definitions(outbox_flags INTERFACE
  OUTBOX_WITH_POSTGRES=$<BOOL:${OUTBOX_WITH_POSTGRES}>
  OUTBOX_WITH_SQLITE=$<BOOL:${OUTBOX_WITH_SQLITE}>)

# Tests that measure time or memory see by OUTBOX_SANITIZED that there is no point in it.
# gcc's flow analysis loses track of std::optional and std::string in instrumented code.
set(instrumented_code -Wno-maybe-uninitialized -Wno-array-bounds -Wno-stringop-overflow -Wno-restrict)
if(OUTBOX_SANITIZE STREQUAL "address")
  # Without optimisation: gcc takes twice as long to optimise what it has instrumented.
  add_compile_options(-O0 -fsanitize=address,undefined -fno-sanitize-recover=all
    -fno-omit-frame-pointer)
  target_compile_options(outbox_flags INTERFACE ${instrumented_code})
  add_link_options(-fsanitize=address,undefined)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # As shared libraries they write undefined behaviour to no log_path (tests/support/sanitizer_report.h).
    add_link_options(-static-libasan -static-libubsan)
  endif()
  # What is tested is instrumented, and every allocation is watched. Tests themselves, which are
  # mostly macros, would take half of the build's time.
  set(OUTBOX_TEST_CODE_OPTIONS -fno-sanitize=all -DOUTBOX_SANITIZED=1)
elseif(OUTBOX_SANITIZE STREQUAL "thread")
  add_compile_options(-fsanitize=thread -fno-omit-frame-pointer -Wno-tsan)
  target_compile_options(outbox_flags INTERFACE ${instrumented_code})
  add_link_options(-fsanitize=thread)
  set(OUTBOX_TEST_CODE_OPTIONS -DOUTBOX_SANITIZED=1)
elseif(OUTBOX_SANITIZE)
  message(FATAL_ERROR "OUTBOX_SANITIZE must be empty, address or thread, not '${OUTBOX_SANITIZE}'")
endif()
