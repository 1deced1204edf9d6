# outbox_module(NAME SOURCES … DEPENDS …): one folder of src/ as one object library outbox_NAME.
# DEPENDS are other modules or external targets; linking one is the only way to include from it.
function(outbox_module name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPENDS" ${ARGN})
  add_library(outbox_${name} OBJECT ${arg_SOURCES})
  target_include_directories(outbox_${name} PUBLIC
    ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(outbox_${name} PUBLIC ${arg_DEPENDS} PRIVATE outbox_flags)
endfunction()

# outbox_test(FILE … LINK …): a test binary for each FILE. The file's suffix names what it needs and
# becomes its label: _test nothing, _pgtest a PostgreSQL server, _e2etest the outboxd program,
# _amqptest RabbitMQ, _natstest, _redistest their servers, which these start themselves. TOGETHER runs
# a file's tests in one process, so that they share a server that is slow to start.
function(outbox_test)
  cmake_parse_arguments(arg "TOGETHER" "TIMEOUT" "FILES;LINK" ${ARGN})
  if(NOT OUTBOX_BUILD_TESTS)
    return()
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  foreach(file IN LISTS arg_FILES)
    get_filename_component(name ${file} NAME_WE)
    if(OUTBOX_TESTS_ONLY AND NOT name MATCHES "${OUTBOX_TESTS_ONLY}")
      continue()
    endif()
    string(REGEX REPLACE "^.*_([a-z0-9]*test)$" "\\1" kind ${name})
    add_executable(${name} ${file})
    target_precompile_headers(${name} REUSE_FROM outbox_test_headers)
    # In precompiled headers gcc 12 forgets which warnings the standard library has silenced. Without
    # optimisation a test compiles in half the time; what it tests is optimised.
    target_compile_options(${name} PRIVATE
      -O0 -Wno-array-bounds -Wno-restrict -Wno-stringop-overflow)
    target_link_libraries(${name} PRIVATE
      ${arg_LINK} outbox_test_support GTest::gmock GTest::gtest_main outbox_flags)
    # CTest starts the costly ones first, so that none is left alone at the end.
    set(properties LABELS ${kind} TIMEOUT ${arg_TIMEOUT} COST ${arg_TIMEOUT})
    if(kind MATCHES "^(pg|e2e)test$")
      list(APPEND properties FIXTURES_REQUIRED postgres ENVIRONMENT
        "OUTBOX_TEST_POSTGRES=${PROJECT_BINARY_DIR}/postgres.url")
    endif()
    if(arg_TOGETHER)
      add_test(NAME ${name} COMMAND ${name})
      set_tests_properties(${name} PROPERTIES ${properties})
    else()
      gtest_discover_tests(${name} TEST_PREFIX ${name}. DISCOVERY_TIMEOUT 60 NO_PRETTY_VALUES
        PROPERTIES ${properties})
    endif()
  endforeach()
endfunction()
