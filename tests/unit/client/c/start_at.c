#include "tests/unit/client/c/start_at.h"

#include "client/c/connection.h"

void StartAt(basebandd_connection* connection, uint64_t k) {
  connection->submitted = k;
  connection->freed = k + connection->ring.entries;
  connection->completed = k;
}
