# What surrounds the programs on a host, and packages of it all.
#
#   cmake --install BUILD --prefix PREFIX        also the systemd unit and its files (see
#                                                systemd/install.cmake), rules and dashboards
#   cmake --build BUILD --target package         NAME_VERSION_ARCHITECTURE.deb of basebandd, of
#                                                libbasebandd-dev (client/c), libbaseband-offload0.1
#                                                and -dev (client/cpp), python3-baseband-offload
#                                                (client/python) and, where they are built, basebandd-bbdev
#                                                (client/bbdev) and gr-baseband-offload
#                                                (client/gnuradio); and a .tar.gz that lies anywhere and
#                                                needs glibc and the driver alone
# A .deb needs dpkg-dev and file: group `packaging` of packages.sh.
set(_systemd ${PROJECT_SOURCE_DIR}/deploy/systemd)
install(SCRIPT ${_systemd}/install.cmake COMPONENT system)

# In the .tar.gz the unit is a file to copy; it expects the folder's contents in /opt/basebandd.
file(READ ${_systemd}/basebandd.service _unit)
string(REPLACE "/usr/bin/basebandd" "/opt/basebandd/bin/basebandd" _unit "${_unit}")
file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/portable/basebandd.service CONTENT "${_unit}")
install(FILES ${PROJECT_BINARY_DIR}/portable/basebandd.service ${_systemd}/basebandd.conf
              ${_systemd}/basebandd.env ${_systemd}/basebandd.sysusers
  DESTINATION ${CMAKE_INSTALL_DATADIR}/baseband/systemd COMPONENT portable_system EXCLUDE_FROM_ALL)
install(FILES ${PROJECT_SOURCE_DIR}/deploy/PORTABLE.txt
  DESTINATION . COMPONENT portable_system EXCLUDE_FROM_ALL)

foreach(_folder prometheus grafana)
  if(EXISTS ${PROJECT_SOURCE_DIR}/deploy/${_folder})
    install(DIRECTORY ${PROJECT_SOURCE_DIR}/deploy/${_folder}
      DESTINATION ${CMAKE_INSTALL_DATADIR}/baseband COMPONENT system)
    install(DIRECTORY ${PROJECT_SOURCE_DIR}/deploy/${_folder}
      DESTINATION ${CMAKE_INSTALL_DATADIR}/baseband COMPONENT portable_system EXCLUDE_FROM_ALL)
  endif()
endforeach()

set(CPACK_PACKAGE_NAME basebandd)
set(CPACK_PACKAGE_VENDOR "Baseband Offload")
set(CPACK_PACKAGE_CONTACT "The engineers of Baseband Offload <root@localhost>")
set(CPACK_PACKAGE_DESCRIPTION
  "basebandd encodes and decodes LDPC code blocks, recovers carriers, converts channels down and finds
 minima on grids for many clients, on NVIDIA GPUs or on the CPU. basebandctl is its client.")
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
set(CPACK_GENERATOR DEB TGZ)
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_ARCHIVE_COMPONENT_INSTALL ON)
set(CPACK_PROJECT_CONFIG_FILE ${PROJECT_SOURCE_DIR}/deploy/package_kinds.cmake)

set(CPACK_PACKAGE_FILE_NAME basebandd-${PROJECT_VERSION}-linux-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_COMPONENT_PROGRAMS_GROUP basebandd)
set(CPACK_COMPONENT_SYSTEM_GROUP basebandd)
set(CPACK_COMPONENT_BBDEV_GROUP bbdev)
set(CPACK_COMPONENT_C_GROUP c)
set(CPACK_COMPONENT_PYTHON_GROUP python)
set(CPACK_COMPONENT_CPP_GROUP cpp)
set(CPACK_COMPONENT_CPP_RUNTIME_GROUP cpp_runtime)
set(CPACK_COMPONENT_GNURADIO_GROUP gnuradio)
set(CPACK_DEBIAN_BASEBANDD_PACKAGE_NAME basebandd)
set(CPACK_DEBIAN_BASEBANDD_PACKAGE_SECTION net)
set(CPACK_DEBIAN_BBDEV_PACKAGE_NAME basebandd-bbdev)
set(CPACK_DEBIAN_BBDEV_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_BBDEV_DESCRIPTION
  "This driver is a bbdev device of DPDK: programs that drive an accelerator card have their LDPC code
 blocks encoded and decoded by a basebandd of the same host.")
set(CPACK_DEBIAN_C_PACKAGE_NAME libbasebandd-dev)
set(CPACK_DEBIAN_C_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_C_DESCRIPTION
  "This is the C library of its shared memory and rings: jobs for a basebandd of the same host, without
 gRPC or C++. The shared and the static library, the header, the pkg-config file.")
set(CPACK_DEBIAN_PYTHON_PACKAGE_NAME python3-baseband-offload)
set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
set(CPACK_DEBIAN_PYTHON_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_PYTHON_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS "python3, python3-grpcio, python3-numpy, python3-protobuf")
set(CPACK_DEBIAN_PYTHON_DESCRIPTION
  "This is its client for Python programs: numpy arrays in, numpy arrays out.")
get_target_property(_abi baseband_offload SOVERSION)
set(_library libbaseband-offload${_abi})
set(CPACK_DEBIAN_CPP_RUNTIME_PACKAGE_NAME ${_library})
set(CPACK_DEBIAN_CPP_RUNTIME_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_CPP_RUNTIME_DESCRIPTION
  "This is its client library for C++, as programs need it that are linked with it.")
# What the headers include; who links the static library needs what is recommended.
set(CPACK_DEBIAN_CPP_PACKAGE_NAME libbaseband-offload-dev)
set(CPACK_DEBIAN_CPP_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_CPP_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_CPP_PACKAGE_DEPENDS "${_library} (= ${PROJECT_VERSION}), libprotobuf-dev, libabsl-dev")
set(CPACK_DEBIAN_CPP_PACKAGE_RECOMMENDS "libgrpc++-dev, libssl-dev")
set(CPACK_DEBIAN_CPP_DESCRIPTION
  "This is its client library for C++: calls with deadlines and retries to one server or several, streams,
 shared memory. The headers, the static library, CMake's and pkg-config's files.")
# For the Python that the module was built for, as Debian's own; the package `gnuradio` has GNU Radio's.
set(CPACK_DEBIAN_GNURADIO_PACKAGE_NAME gr-baseband-offload)
set(CPACK_DEBIAN_GNURADIO_PACKAGE_SECTION hamradio)
set(CPACK_DEBIAN_GNURADIO_DESCRIPTION
  "These are blocks for GNU Radio whose work a basebandd does: LDPC encoder and decoder, carrier recovery
 and symbol timing, down-converter. For Python, C++ and GNU Radio Companion, with example flow graphs.")
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(_debian ${PROJECT_SOURCE_DIR}/deploy/debian)
set(CPACK_DEBIAN_BASEBANDD_PACKAGE_CONTROL_EXTRA
  ${_debian}/conffiles ${_debian}/postinst ${_debian}/prerm ${_debian}/postrm)
if(BASEBAND_HAS_CUDA)
  # Loaded by name when a GPU is there; without them the GPU is not used. NVIDIA's names of them.
  set(_cuda ${CUDAToolkit_VERSION_MAJOR}-${CUDAToolkit_VERSION_MINOR})
  set(CPACK_DEBIAN_BASEBANDD_PACKAGE_RECOMMENDS "libcufft-${_cuda}, cuda-nvrtc-${_cuda}")
  string(APPEND CPACK_PACKAGE_FILE_NAME -cuda${CUDAToolkit_VERSION_MAJOR})
endif()
if(BASEBAND_HAS_BBDEV)
  set(CPACK_BASEBAND_BBDEV bbdev)  # for package_kinds.cmake
endif()
if(BASEBAND_HAS_GNURADIO)
  set(CPACK_BASEBAND_GNURADIO gnuradio)
  math(EXPR _next "${BASEBAND_GNURADIO_PYTHON_MINOR} + 1")
  set(CPACK_DEBIAN_GNURADIO_PACKAGE_DEPENDS "gnuradio (>= 3.10), gnuradio (<< 3.11~), \
python3 (>= 3.${BASEBAND_GNURADIO_PYTHON_MINOR}~), python3 (<< 3.${_next})")
endif()
include(CPack)
