// The highest rate that a server bears.
#ifndef BASEBAND_CLIENT_LOAD_KNEE_H_
#define BASEBAND_CLIENT_LOAD_KNEE_H_

#include <functional>
#include <map>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"

namespace baseband::load {

// Whether a load of that many calls a second is borne; an error ends the search.
using Bears = std::function<absl::StatusOr<bool>(double rate)>;

// Where the highest rate lies that is borne.
struct Knee {
  double low = 0;   // the highest rate known to be borne; 0: none down to the end of the search
  double high = 0;  // the lowest rate known to be too much; 0: none up to the end of the search
  int loads = 0;    // that it took
  bool is_sure = false;  // both are known by odds of 400 to 1; else the search ended before
};

// Looks for it by loads of which some tell lies: a server that bears a rate may stumble just then
// (one load in four is allowed for), one that does not may be lucky (one in twenty). So nothing
// rests on one load. What all of them together say of a rate is the likelihood of their outcomes
// if the knee lies above it, over that if it lies below.
//
// Doubles or halves from `first_rate` > 0 until it has a rate that is rather borne and one that is
// rather not, takes the middle of their logarithms until they are within `precision` (0.05: 5 %) of
// each other, and repeats loads where they are in doubt. At the end it loads both rates again, and
// one a fifth above, until it is sure; where one of these says otherwise, it goes on from there.
// Sure rates may be four times the precision apart: closer to the knee than its own unrest no load
// tells anything. From the greater of first_rate / 1024 and `least_rate`, where it gives up, to the
// lesser of first_rate * 1024 and 10^7; at most 80 loads, 18 where none lies.
class KneeSearch {
 public:
  KneeSearch(double first_rate, double precision, double least_rate);

  // The rate of the next load; empty: the search is over.
  absl::optional<double> Next() const;
  void Add(double rate, bool borne);
  // As far as it is known by now.
  Knee Get() const;

 private:
  struct Outcomes {
    int borne = 0;
    int not_borne = 0;
  };
  struct Bracket {  // 0: none
    double borne = 0;
    double too_much = 0;
  };

  // By logarithms of odds: which is the highest rate that is borne by at least `odds`, and the
  // lowest above it that is not.
  Bracket At(double odds) const;
  // A rate between those of `bracket` of which nothing is known for sure; 0: none.
  double Doubtful(const Bracket& bracket) const;

  const double first_;
  const double lowest_;
  const double highest_;
  const double precision_;
  std::map<double, Outcomes> loads_;
  std::map<double, double> odds_;  // logarithm, that the rate is borne
  int count_ = 0;
};

// The whole search. Errors are those of `bears`; that no rate is borne is none.
absl::StatusOr<Knee> FindKnee(double first_rate, double precision, const Bears& bears,
                              double least_rate = 0);

}  // namespace baseband::load

#endif  // BASEBAND_CLIENT_LOAD_KNEE_H_
