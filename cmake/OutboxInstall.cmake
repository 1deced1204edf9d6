# The installed library: headers, libraries, CMake package files and a pkg-config file.
