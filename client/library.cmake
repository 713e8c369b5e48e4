# What the installed libraries of client/ have in common.
include(GNUInstallDirs)

# The shared library `target` is lib<OUTPUT_NAME>.so.<abi>, and exports what the version script `map`
# names. Another `abi` says that programs have to be compiled again.
function(baseband_shared_library target abi version map)
  set_target_properties(${target} PROPERTIES VERSION ${version} SOVERSION ${abi} LINK_DEPENDS ${map})
  target_link_options(${target} PRIVATE LINKER:--version-script=${map})
endfunction()

# pkg-config files, of <name>.pc.in each, that find the library wherever
# `cmake --install BUILD --component COMPONENT --prefix PREFIX` has put it.
function(baseband_install_pkg_config component)
  file(RELATIVE_PATH _to_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
  foreach(_name IN LISTS ARGN)
    configure_file(${_name}.pc.in ${_name}.pc @ONLY)
    install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${_name}.pc
      DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT ${component} EXCLUDE_FROM_ALL)
  endforeach()
endfunction()
