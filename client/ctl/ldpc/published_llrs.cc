#include "client/ctl/ldpc/published_llrs.h"

#include <algorithm>
#include <iterator>

#include "client/ctl/common/sha256.h"

namespace baseband::ctl {
namespace {

constexpr size_t kDigits = 16;

struct Published {
  absl::string_view info;  // the first digits of the SHA-256 of its bytes
  absl::string_view llr;
};

// The cases of noisy_decode.jsonl and nr_tb_decode.jsonl, by `info`.
constexpr Published kPublished[] = {
    {"02e35bbaed2bc0e2", "fd1a9ed3af96f372"}, {"034b1a3475f92e10", "6df74928a6185247"},
    {"055b4e4fc536358d", "bcad8d294194803c"}, {"071452ee74392589", "24505604fc520828"},
    {"0ae739f7b5d4cea3", "483d1208781b673e"}, {"0ba866910263d509", "17e871bc11405a7f"},
    {"0c60df664dbb4fed", "89b486802501e172"}, {"0c7f79ea2401a117", "2185d9feefad52be"},
    {"0e4522440e1e7742", "210055ea412ac0c6"}, {"0f8c5d7f30887a9d", "ba51d650ea7e8158"},
    {"1039918be1ef42b3", "a33f443a83af481d"}, {"11a0b958a6adcbb6", "500187a396fb06d1"},
    {"13aadca3bd91b53d", "044d784a7e4bd59a"}, {"14b5e74bd44a0af2", "4101b7a2c4acedc4"},
    {"17fc22f2448d5646", "f30a692e1ee40624"}, {"192d4467240c6f58", "d7f8fef575d022b0"},
    {"1b23386bbdb72135", "8e40ab74ca044dd6"}, {"1b2741a1c04dfff6", "9fc06380562e5eac"},
    {"1c1973ce21c8df64", "20aeb6bbde9bbf25"}, {"1c4629d9419aceb4", "a098709176596079"},
    {"1da2d46fd6c650c0", "dbfab9f4c9ae96e7"}, {"1fff7deb5d35f267", "60a53e225ca24a91"},
    {"22e5a85089d23d22", "2311ca1fa44b82a2"}, {"23032074db8c095e", "1830f318cb812fc7"},
    {"26eb9f621cfb7f0e", "2c3072efa90d12e3"}, {"299ad841cb1b3b52", "3e874dc24cf3ce5d"},
    {"3187fa22b8135a19", "150f71c3791fe53b"}, {"3242d7e9cb38f866", "714df3af6ee63e0f"},
    {"374c344cd5765658", "7f2585a176cd48f5"}, {"378cd93f55856699", "0668507ea7da3907"},
    {"3a0b26a945115458", "7ed0a72112a1146f"}, {"3a43aacd03a486b3", "1c15521d07ef1ddf"},
    {"3ad29cffa62483c4", "c0e2ea81fd970602"}, {"3bef8484b4361c7b", "98a09e08f790d20c"},
    {"3cdc40408ed8f45c", "c03750d858f5cb1f"}, {"3feba59798b5f632", "510a482b58eb578f"},
    {"4530e3c705db82d8", "db0856e3731b4392"}, {"464430f77cc78699", "f42e2935f2273bb7"},
    {"4921ab15371d37f9", "f5025f02b17e811f"}, {"49c716ff628a76f9", "30efd74f47fcef52"},
    {"49ff02dedb3a60e0", "d14ffe6a6d151788"}, {"4a830c27cf2c2c12", "bc1da3ca73d97428"},
    {"4ae333688f603ee1", "3347536ffac17e52"}, {"4da2bf328a36cc2f", "f5acebe4df132bf7"},
    {"4eb383fb4df9e560", "c7b472f608bc4abb"}, {"51adf07eff5dfcdc", "f6888ed7ba483779"},
    {"55adc810ba4ac743", "dee550f8cbc44585"}, {"58adfd7e181b174f", "76ee0dd40878b245"},
    {"5a3be97b6daceb8c", "8c939801876ced70"}, {"5fa145209f5f9f4c", "10547f626583c676"},
    {"5fa152794be5442b", "a249a9966514696d"}, {"621fe279e2cd589b", "cd994bf1001ef472"},
    {"6389ab9886bd778f", "02c8d54d5bd76445"}, {"63e4e12a6714b925", "831a51bf352483c5"},
    {"67f7b598b0867033", "dd53b8062b25c91e"}, {"688eaa905d7d9c11", "c6e13b81a98cd0ae"},
    {"6b6091db19ae351c", "350cb8d5a57a1f47"}, {"719a448f4c294c80", "cc12b874c8671ba4"},
    {"74474fda2088775f", "8875231f57be9a03"}, {"75bfa603ea6d8023", "e66c8a57e4e199e9"},
    {"7e0e8da28ba9d4e7", "61a3fbb5ffa06ff1"}, {"80f42ce559bb6432", "362ed4ade99b83bb"},
    {"95121ef4d59ad39f", "059a1f33ef987f94"}, {"968108677ba724e8", "c062226627655913"},
    {"96c1f65ca14a775d", "b61f4e03dde9515f"}, {"97c6e8d21f06466b", "a05a44c6106c55cd"},
    {"9946e543eeb3458c", "a1d4967c02d016ac"}, {"999f5ef2b99f38f6", "f05eeeda25063dac"},
    {"9adea53b672c4f04", "6370343530fa44ed"}, {"9b598cfe1061c152", "9abb6b23316dad7e"},
    {"9ef58d55f7caee19", "027e9a01706ebad6"}, {"a047bb3a4a007164", "8a2750d6d4b165d5"},
    {"a8ace690b5cf926f", "22b2f41f4a15cc1b"}, {"a95e15a25a49c9f0", "00b60a3a9770cdf7"},
    {"aa387984ebdb6e94", "c3453512e4fdc3b0"}, {"aa5afd59714985a0", "8bb46aaf829bdd34"},
    {"ade2a0709f6558f9", "b35d9b3e33c0e0f0"}, {"b93b58f08ec270ca", "d56a9ab3075c01bf"},
    {"b96c75d041153d9f", "badf762272d3d97d"}, {"ba4edb9cd377429b", "d290e45ad64a89be"},
    {"ba93b5f7b2f0df42", "a2ca7a9f3325e614"}, {"bb19d22167b53ec0", "368f84c62163d7f8"},
    {"bd59fa4484552437", "68eca5b44e15ee32"}, {"bfe68c6aea2095af", "75a2da9ed6414dec"},
    {"c08c9420822eea44", "d7e95116183bfa06"}, {"c19d1ca2689fa16f", "e0a5f51ca26a9a90"},
    {"c1cd549f44adcf21", "1018fa10f9d54519"}, {"c24c624bed1667d2", "b40761fcb6207894"},
    {"c3bc0f5c4326c972", "65cfa29ba5fdf35d"}, {"c462125c490066d4", "c7126690cecb3e91"},
    {"c9349c67abdc0aeb", "3ee2b91676feac52"}, {"c9f28a45e815d8b0", "e3bb7da3bc4d4da0"},
    {"c9ff77fb6151f022", "ad4ec5b1a8a02514"}, {"cb553a22fb02cf4a", "b34be601c724c806"},
    {"d0f7b7ad8c6fafd8", "f44e772406f8f8c9"}, {"d271805d304a115f", "4b40949093eeb29e"},
    {"d5564db7332c86fa", "5f9b140468aaa038"}, {"d7b2a5f1872e65bb", "610969bfdea2cb26"},
    {"daca2dda849678af", "c7d991f28c886757"}, {"db515546d1710318", "fc3eca5a1854b1be"},
    {"de3cb111d70b040c", "af6f4f3d28c29f47"}, {"dea6e365ab3d97ab", "b4838a3c55f1a949"},
    {"e03abf12fc2e8099", "8a778a32adaeceb1"}, {"e0fa5e753e97f9a8", "e4318e581c62eb94"},
    {"e4320001286fef80", "20e09e47e5f5fe68"}, {"e6d59ee361983712", "969a2499993b944c"},
    {"eb4917295ec6c27f", "60dd89717dac93f2"}, {"ecba2d6e43e82d1f", "31fc805b7435cbfd"},
    {"eccccaccdec19ca7", "3ad87216282494a8"}, {"ee0e1c2b33714ab6", "769f817ab18c3037"},
    {"f0b8c7602bee3172", "7e5601dd5165c2ad"}, {"f0fa5b53fb049d92", "131437bcbd85e27d"},
    {"f1be305f70684345", "a8227fbce97b04d1"}, {"fb1b86b8d41c9b43", "116b3f7d7868f1b4"},
    {"fde57078c8b89607", "7171803d4e121f2e"}, {"ffb01d9dc6c954c7", "66cac3ae29dcee8d"},
};

}  // namespace

absl::Status CheckAgainstPublished(absl::string_view info, absl::string_view llr) {
  const std::string digest = Sha256Hex(info).substr(0, kDigits);
  const Published* found = std::lower_bound(
      std::begin(kPublished), std::end(kPublished), digest,
      [](const Published& entry, const std::string& key) { return entry.info < key; });
  if (found == std::end(kPublished) || found->info != digest ||
      found->llr == Sha256Hex(llr).substr(0, kDigits)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError("llr differs from the published case with this info");
}

}  // namespace baseband::ctl
