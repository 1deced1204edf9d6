# The installed product: the program, the library with its headers, CMake package files for
# find_package(outbox), and a pkg-config file.
include(CMakePackageConfigHelpers)

install(TARGETS outbox EXPORT outbox-targets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/outbox DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
if(TARGET outboxd)
  install(TARGETS outboxd RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()

# What is installed, without tests and examples: `make build`.
add_custom_target(product DEPENDS outbox $<TARGET_NAME_IF_EXISTS:outboxd>)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/outbox)
install(EXPORT outbox-targets NAMESPACE outbox:: DESTINATION ${package_dir})
configure_package_config_file(cmake/outbox-config.cmake.in
  ${PROJECT_BINARY_DIR}/outbox-config.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/outbox-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/outbox-config.cmake
  ${PROJECT_BINARY_DIR}/outbox-config-version.cmake DESTINATION ${package_dir})

set(OUTBOX_PC_REQUIRES "")
if(OUTBOX_WITH_POSTGRES)
  string(APPEND OUTBOX_PC_REQUIRES " libpq")
endif()
if(OUTBOX_WITH_SQLITE)
  string(APPEND OUTBOX_PC_REQUIRES " sqlite3")
endif()
# Found from the file's own place, so that `cmake --install --prefix` may move it.
file(RELATIVE_PATH OUTBOX_PC_PREFIX /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
configure_file(cmake/outbox.pc.in ${PROJECT_BINARY_DIR}/outbox.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/outbox.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
