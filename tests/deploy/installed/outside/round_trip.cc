// A block to the server TARGET, through its encoder and decoder and back. Usage: round_trip TARGET
#include <iostream>
#include <string>

#include "client/cpp/client.h"

namespace v1 = baseband::v1;

int main(int argc, char** argv) {
  baseband::client::ClientOptions options;
  if (argc > 1) options.target = argv[1];
  auto client = baseband::client::Client::Create(options);
  if (!client.ok()) return std::cerr << client.status() << '\n', 1;

  v1::EncodeRequest encode;
  encode.add_groups()->mutable_code()->mutable_nr()->set_base_graph(2);
  encode.mutable_groups(0)->mutable_code()->mutable_nr()->set_zc(8);
  encode.mutable_groups(0)->set_count(1);
  encode.mutable_groups(0)->set_output(v1::ENCODE_OUTPUT_CODEWORD);
  encode.set_payload("ten bytes!");
  const auto word = (*client)->Encode(encode);
  if (!word.ok()) return std::cerr << word.status() << '\n', 1;

  v1::DecodeRequest decode;
  *decode.add_groups()->mutable_code() = encode.groups(0).code();
  decode.mutable_groups(0)->set_count(1);
  for (const unsigned char byte : word->payload()) {
    for (int bit = 7; bit >= 0; --bit)
      decode.mutable_payload()->push_back(byte >> bit & 1 ? -20 : 20);
  }
  const auto block = (*client)->Decode(decode);
  if (!block.ok()) return std::cerr << block.status() << '\n', 1;
  std::cout << block->payload() << (block->parity_ok(0) ? "" : ", but parity fails") << '\n';
}
