# Read by CPack for each kind of package: which components go into it, and where they will lie.
if(CPACK_GENERATOR STREQUAL "DEB")
  set(CPACK_COMPONENTS_ALL programs system c cpp cpp_runtime python ${CPACK_BASEBAND_BBDEV}
    ${CPACK_BASEBAND_GNURADIO})
  set(CPACK_COMPONENTS_GROUPING ONE_PER_GROUP)
  # Installed under DESTDIR as if into /usr, so that install scripts see the final prefix.
  set(CPACK_SET_DESTDIR ON)
  set(CPACK_INSTALL_PREFIX /usr)
else()
  set(CPACK_COMPONENTS_ALL portable portable_system)
  set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
  set(CPACK_COMPONENT_INCLUDE_TOPLEVEL_DIRECTORY ON)
endif()
