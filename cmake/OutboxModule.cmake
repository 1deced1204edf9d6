# outbox_module(NAME SOURCES … DEPENDS …): one folder of src/ as one object library outbox_NAME.
# DEPENDS are other modules or external targets; linking one is the only way to include from it.
function(outbox_module name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPENDS" ${ARGN})
  add_library(outbox_${name} OBJECT ${arg_SOURCES})
  target_include_directories(outbox_${name} PUBLIC
    ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(outbox_${name} PUBLIC ${arg_DEPENDS} PRIVATE outbox_flags)
  set_target_properties(outbox_${name} PROPERTIES UNITY_BUILD ${OUTBOX_UNITY})
endfunction()

# outbox_test(NAME FILES … LINK …): the tests of one folder. A file's suffix names what it needs and
# becomes its label: _test nothing, _pgtest a PostgreSQL server, _e2etest the outboxd program,
# _amqptest RabbitMQ, _natstest, _redistest their servers, which these start themselves. Files of one
# suffix make one binary, NAME_suffix. TOGETHER runs its tests in one process, so that they share a
# server that is slow to start.
function(outbox_test name)
  cmake_parse_arguments(arg "TOGETHER" "TIMEOUT" "FILES;LINK" ${ARGN})
  if(NOT OUTBOX_BUILD_TESTS)
    return()
  endif()
  set(kinds "")
  foreach(file IN LISTS arg_FILES)
    get_filename_component(stem ${file} NAME_WE)
    if(OUTBOX_TESTS_ONLY AND NOT stem MATCHES "${OUTBOX_TESTS_ONLY}")
      continue()
    endif()
    string(REGEX REPLACE "^.*_([a-z0-9]*test)$" "\\1" kind ${stem})
    list(APPEND kinds ${kind})
    list(APPEND files_${kind} ${file})
  endforeach()
  list(REMOVE_DUPLICATES kinds)
  foreach(kind IN LISTS kinds)
    outbox_test_binary(${name}_${kind} ${kind})
  endforeach()
endfunction()

# outbox_test_suite(NAME FILES … LINK …): tests that several binaries link, compiled once for all.
function(outbox_test_suite name)
  cmake_parse_arguments(arg "" "" "FILES;LINK" ${ARGN})
  # Compiled as programs are, for the sake of the precompiled headers.
  add_library(${name} OBJECT EXCLUDE_FROM_ALL ${arg_FILES})
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(${name} PRIVATE -fPIE)
  outbox_test_code(${name})
  target_link_libraries(${name} PRIVATE
    ${arg_LINK} outbox_test_support GTest::gmock GTest::gtest outbox_flags)
endfunction()

# How tests are compiled. In precompiled headers gcc 12 forgets which warnings the standard library has
# silenced. Without optimisation and debug information a test compiles in half the time; what it tests
# has both.
function(outbox_test_code target)
  target_precompile_headers(${target} REUSE_FROM outbox_test_headers)
  target_compile_options(${target} PRIVATE
    -O0 -g0 -Wno-array-bounds -Wno-restrict -Wno-stringop-overflow ${OUTBOX_TEST_CODE_OPTIONS})
endfunction()

# One binary of outbox_test, whose arguments it sees.
macro(outbox_test_binary binary kind)
  add_executable(${binary} ${files_${kind}})
  set_target_properties(${binary} PROPERTIES UNITY_BUILD ${OUTBOX_UNITY})
  outbox_test_code(${binary})
  target_link_libraries(${binary} PRIVATE
    ${arg_LINK} outbox_test_reports outbox_test_support GTest::gmock GTest::gtest_main outbox_flags)
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  # CTest starts the costly ones first, so that none is left alone at the end.
  set(properties LABELS ${kind} TIMEOUT ${arg_TIMEOUT} COST ${arg_TIMEOUT})
  if("${kind}" MATCHES "^(pg|e2e)test$")
    list(APPEND properties FIXTURES_REQUIRED postgres ENVIRONMENT
      "OUTBOX_TEST_POSTGRES=${PROJECT_BINARY_DIR}/postgres.url")
  endif()
  if(arg_TOGETHER)
    add_test(NAME ${binary} COMMAND ${binary})
    set_tests_properties(${binary} PROPERTIES ${properties})
  else()
    gtest_discover_tests(${binary} TEST_PREFIX ${binary}. DISCOVERY_TIMEOUT 60 NO_PRETTY_VALUES
      PROPERTIES ${properties})
  endif()
endmacro()
