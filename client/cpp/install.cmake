# The client as a library for programs outside this tree: libbaseband-offload, shared and static,
# out of the objects that are compiled for baseband::client. README.md says how it is used.

# While the major version is 0, each minor version may change what programs were compiled with.
if(PROJECT_VERSION_MAJOR EQUAL 0)
  set(_abi 0.${PROJECT_VERSION_MINOR})
  set(_compatible SameMinorVersion)
else()
  set(_abi ${PROJECT_VERSION_MAJOR})
  set(_compatible SameMajorVersion)
endif()
set(_abi_node BASEBAND_OFFLOAD_${_abi})
set(_headers ${CMAKE_INSTALL_INCLUDEDIR}/baseband-offload)
set(_config ${CMAKE_INSTALL_LIBDIR}/cmake/BasebandOffload)
configure_file(baseband-offload.map.in baseband-offload.map @ONLY)

set(_objects)
foreach(_part baseband_client baseband_proto baseband_common_grpc baseband_pem baseband_c)
  list(APPEND _objects $<TARGET_OBJECTS:${_part}>)
endforeach()
add_library(baseband_offload SHARED ${_objects})
add_library(baseband_offload_static STATIC ${_objects})
foreach(_library baseband_offload baseband_offload_static)
  set_target_properties(${_library} PROPERTIES OUTPUT_NAME baseband-offload LINKER_LANGUAGE CXX)
  target_include_directories(${_library} INTERFACE $<INSTALL_INTERFACE:${_headers}>)
  target_compile_features(${_library} INTERFACE cxx_std_17)
  target_link_libraries(${_library}
    PUBLIC protobuf::libprotobuf absl::optional absl::status absl::statusor absl::strings absl::time
    PRIVATE gRPC::grpc++ OpenSSL::Crypto Threads::Threads absl::synchronization)
endforeach()
set_target_properties(baseband_offload PROPERTIES EXPORT_NAME client)
set_target_properties(baseband_offload_static PROPERTIES EXPORT_NAME client_static)
baseband_shared_library(baseband_offload ${_abi} ${PROJECT_VERSION}
  ${CMAKE_CURRENT_BINARY_DIR}/baseband-offload.map)
target_link_options(baseband_offload PRIVATE LINKER:--as-needed)  # gRPC's CMake files name 100 libraries

# As those of the C library, of what installs a development environment; `cpp_runtime` is what
# programs need when they run.
install(TARGETS baseband_offload EXPORT baseband_offload_shared
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT cpp_runtime NAMELINK_COMPONENT cpp
  EXCLUDE_FROM_ALL)
install(TARGETS baseband_offload_static EXPORT baseband_offload_static COMPONENT cpp EXCLUDE_FROM_ALL
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
foreach(_kind shared static)
  install(EXPORT baseband_offload_${_kind} NAMESPACE BasebandOffload:: DESTINATION ${_config}
    FILE BasebandOffload-${_kind}.cmake COMPONENT cpp EXCLUDE_FROM_ALL)
endforeach()
install(FILES ${BASEBAND_CLIENT_HEADERS}
  DESTINATION ${_headers}/client/cpp COMPONENT cpp EXCLUDE_FROM_ALL)
foreach(_name baseband admin)
  install(FILES ${PROJECT_BINARY_DIR}/proto/generated/baseband/v1/${_name}.pb.h
                ${PROJECT_SOURCE_DIR}/proto/baseband/v1/${_name}.proto
    DESTINATION ${_headers}/baseband/v1 COMPONENT cpp EXCLUDE_FROM_ALL)
endforeach()
baseband_install_pkg_config(cpp baseband-offload baseband-offload-static)

include(CMakePackageConfigHelpers)
configure_package_config_file(BasebandOffloadConfig.cmake.in BasebandOffloadConfig.cmake
  INSTALL_DESTINATION ${_config} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(BasebandOffloadConfigVersion.cmake COMPATIBILITY ${_compatible})
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/BasebandOffloadConfig.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/BasebandOffloadConfigVersion.cmake
  DESTINATION ${_config} COMPONENT cpp EXCLUDE_FROM_ALL)
