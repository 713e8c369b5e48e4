# Sourced by what runs ctest.

# summarize JUNIT.XML ...: how many tests of ctest's reports passed and failed, "N passed, N failed"; the
# status is 0 iff none failed and some passed.
summarize() {
  local report passed=0 failed=0 skipped=0
  [ $# -gt 0 ] || { echo "ctest did not run" >&2; return 1; }
  for report in "$@"; do
    _count() { sed -n "s/.*[[:space:]]$1=\"\([0-9]*\)\".*/\1/p" "$report" | head -n 1; }
    local without=$(($(_count skipped) + $(_count disabled)))
    skipped=$((skipped + $(_count skipped)))
    failed=$((failed + $(_count failures)))
    passed=$((passed + $(_count tests) - $(_count failures) - without))
  done
  [ "$skipped" = 0 ] || echo "$skipped skipped"
  echo "$passed passed, $failed failed"
  [ "$failed" = 0 ] && [ "$passed" -gt 0 ]
}
