// The service of the contract as bytes: its methods by name, as a table has them, their messages as
// gRPC's buffers. Generated code would want a line of its own for each method.
#ifndef BASEBAND_SERVER_GRPC_RAW_SERVICE_H_
#define BASEBAND_SERVER_GRPC_RAW_SERVICE_H_

#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/service_type.h>
#include <grpcpp/support/async_stream.h>

#include <deque>
#include <functional>
#include <string>

#include "absl/strings/string_view.h"

namespace baseband::server {

class RawService final : public grpc::Service {
 public:
  // Of a service called "baseband.v1.Baseband", say.
  explicit RawService(absl::string_view service) : service_(service) {}

  // Before the server is built: a method of that name, whose calls are there once their headers
  // are. Returns its number. To gRPC it is a stream both ways, whatever it is to its clients.
  int Add(absl::string_view method);
  // A unary method that gRPC's own threads answer, by `answer`.
  using Answer =
      std::function<grpc::Status(const grpc::ServerContext& context,
                                 const grpc::ByteBuffer& request, grpc::ByteBuffer* response)>;
  void AddSync(absl::string_view method, const Answer& answer);

  // Waits on `queue` for the next call of method number `method`; `tag` comes out once it is there.
  void Listen(int method, grpc::ServerContext* context,
              grpc::ServerAsyncReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer>* stream,
              grpc::ServerCompletionQueue* queue, void* tag) {
    RequestAsyncBidiStreaming(method, context, stream, queue, queue, tag);
  }

 private:
  const std::string service_;
  std::deque<std::string> paths_;  // gRPC keeps pointers to them
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_GRPC_RAW_SERVICE_H_
