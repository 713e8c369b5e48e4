// Some of the roles.
#ifndef BASEBAND_SERVER_AUTH_ROLE_SET_H_
#define BASEBAND_SERVER_AUTH_ROLE_SET_H_

#include <bitset>

#include "server/config/access_rule.h"

namespace baseband::server {

class RoleSet {
 public:
  void Add(Role role) { roles_.set(static_cast<size_t>(role)); }
  void Add(const RoleSet& others) { roles_ |= others.roles_; }
  bool Has(Role role) const { return roles_.test(static_cast<size_t>(role)); }
  bool empty() const { return roles_.none(); }

 private:
  std::bitset<kRoleNames.size()> roles_;
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_AUTH_ROLE_SET_H_
