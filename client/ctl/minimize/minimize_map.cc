#include "client/ctl/minimize/minimize_map.h"

#include <algorithm>
#include <cmath>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/synchronization/mutex.h"
#include "client/ctl/common/terminal.h"
#include "client/ctl/minimize/minimize_report.h"
#include "client/ctl/plot/plot.h"
#include "kernels/base/steady_time.h"

namespace baseband::ctl {
namespace {

using OnProgress = std::function<bool(const v1::MinimizeProgress&)>;

int CellsOf(const v1::GridAxis& axis) {
  return static_cast<int>(std::min<uint64_t>(kMaxMapCells, axis.count()));
}

// The first point of an axis that lies in `cell`.
uint64_t FirstOf(const v1::GridAxis& axis, int cell) {
  const auto cells = static_cast<uint64_t>(CellsOf(axis));
  return (static_cast<uint64_t>(cell) * axis.count() + cells - 1) / cells;
}

double MiddleOf(const v1::GridAxis& axis, int cell) {
  const auto sum = static_cast<double>(FirstOf(axis, cell) + FirstOf(axis, cell + 1) - 1);
  return axis.begin() + axis.step() * sum / 2;
}

// The columns' searches, by as many threads as requests may be in flight.
class ColumnSearches {
 public:
  ColumnSearches(client::Client* client, const v1::MinimizeRequest& request,
                 const GlobalFlags& flags, const OnProgress& progress)
      : client_(client),
        request_(request),
        flags_(flags),
        progress_(progress),
        columns_(CellsOf(request.axes(0))),
        rows_(CellsOf(request.axes(1))),
        points_(static_cast<size_t>(columns_)) {
    total_.set_total_points(request.axes(0).count() * request.axes(1).count());
    result_.map.columns = columns_;
    result_.map.rows = rows_;
    result_.map.values.resize(static_cast<size_t>(columns_) * static_cast<size_t>(rows_));
  }

  absl::StatusOr<MappedAnswer> Run() {
    std::vector<std::thread> threads;
    for (int i = 0; i < std::min(flags_.in_flight, columns_); ++i) {
      threads.emplace_back([this] {
        for (int column = Next(); column < columns_; column = Next()) Search(column);
      });
    }
    for (std::thread& thread : threads) thread.join();
    absl::MutexLock lock(&mutex_);
    if (!status_.ok()) return status_;
    return std::move(result_);
  }

 private:
  int Next() {
    absl::MutexLock lock(&mutex_);
    return status_.ok() ? next_++ : columns_;
  }

  void Search(int column) {
    v1::MinimizeRequest request = request_;
    const v1::GridAxis& slow = request.axes(0);
    const uint64_t first = FirstOf(slow, column);
    request.set_first_point(first * request.axes(1).count());
    request.set_num_points((FirstOf(slow, column + 1) - first) * request.axes(1).count());
    request.set_top(1);
    request.clear_separation();
    request.set_refinement(v1::REFINEMENT_NONE);
    request.set_profile_axis(1);
    request.set_profile_bins(static_cast<uint32_t>(rows_));
    const auto answer = client_->Minimize(
        request, flags_.call(),
        [&](const v1::MinimizeProgress& progress) { return Note(column, progress); });
    absl::MutexLock lock(&mutex_);
    if (!answer.ok()) {
      status_.Update(answer.status());
      return;
    }
    Gather(column, *answer);
  }

  bool Note(int column, const v1::MinimizeProgress& progress) {
    absl::MutexLock lock(&mutex_);
    if (progress.has_best()) NoteBest(progress.best());
    return NotePoints(column, progress.points());
  }
  bool NotePoints(int column, uint64_t points) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    uint64_t& of_column = points_[static_cast<size_t>(column)];
    total_.set_points(total_.points() + points - of_column);
    of_column = points;
    total_.set_elapsed_s(absl::ToDoubleSeconds(SteadyNow() - start_));
    return status_.ok() && (progress_ == nullptr || progress_(total_));
  }
  void NoteBest(const v1::GridPoint& point) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const v1::GridPoint& best = total_.best();
    const double sign = request_.goal() == v1::SEARCH_GOAL_MAXIMUM ? -1 : 1;
    if (!total_.has_best() || sign * point.value() < sign * best.value() ||
        (point.value() == best.value() && point.index() < best.index())) {
      *total_.mutable_best() = point;
    }
  }

  void Gather(int column, const v1::MinimizeAnswer& answer) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    std::copy(answer.profile().begin(), answer.profile().end(),
              result_.map.values.begin() + static_cast<ptrdiff_t>(column) * rows_);
    v1::MinimizeAnswer& all = result_.answer;
    all.set_evaluations(all.evaluations() + answer.evaluations());
    if (answer.nan_points() > 0 &&
        (all.nan_points() == 0 || answer.first_nan() < all.first_nan())) {
      all.set_first_nan(answer.first_nan());
    }
    all.set_nan_points(all.nan_points() + answer.nan_points());
    if (!answer.top().empty()) {
      NoteBest(answer.top(0));
      all.clear_top();
      *all.add_top() = total_.best();
    }
    if (!NotePoints(column, answer.evaluations())) {
      status_.Update(absl::CancelledError("the search was cancelled"));
    }
    all.set_elapsed_s(total_.elapsed_s());
  }

  client::Client* const client_;
  const v1::MinimizeRequest& request_;
  const GlobalFlags& flags_;
  const OnProgress& progress_;
  const int columns_;
  const int rows_;
  const absl::Time start_ = SteadyNow();
  absl::Mutex mutex_;
  int next_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
  std::vector<uint64_t> points_ ABSL_GUARDED_BY(mutex_);  // of each column
  v1::MinimizeProgress total_ ABSL_GUARDED_BY(mutex_);
  MappedAnswer result_ ABSL_GUARDED_BY(mutex_);
};

PlotAxis ToPlotAxis(const v1::MinimizeRequest& request, int k) {
  const v1::GridAxis& axis = request.axes(k);
  const double half = axis.count() > 1 ? std::abs(axis.step()) / 2 : 0.5;
  const double end = axis.begin() + axis.step() * static_cast<double>(axis.count() - 1);
  return {AxisLabel(request, k), std::min(axis.begin(), end) - half,
          std::max(axis.begin(), end) + half};
}

}  // namespace

absl::Status CheckMap(const v1::MinimizeRequest& request) {
  if (request.axes_size() != 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("--map shows a grid of two axes, not of ", request.axes_size()));
  }
  if (request.first_point() != 0 || request.num_points() != 0) {
    return absl::InvalidArgumentError(
        "--map shows the whole grid: it goes without --first-point and --points");
  }
  return absl::OkStatus();
}

absl::StatusOr<MappedAnswer> MinimizeWithMap(client::Client* client,
                                             const v1::MinimizeRequest& request,
                                             const GlobalFlags& flags, const OnProgress& progress) {
  absl::StatusOr<MappedAnswer> mapped = ColumnSearches(client, request, flags, progress).Run();
  if (!mapped.ok() || mapped->answer.top().empty()) return mapped;
  v1::MinimizeRequest rest = request;
  const bool once = request.top() <= 1 && request.profile_bins() == 0;
  if (once) {
    rest.set_first_point(mapped->answer.top(0).index());
    rest.set_num_points(1);
  }
  absl::StatusOr<v1::MinimizeAnswer> answer =
      client->Minimize(rest, flags.call(), once ? nullptr : progress);
  if (!answer.ok()) return answer.status();
  const v1::MinimizeAnswer& all = mapped->answer;
  answer->set_elapsed_s(answer->elapsed_s() + all.elapsed_s());
  answer->set_evaluations(answer->evaluations() + all.evaluations() - (once ? 1 : 0));
  answer->set_nan_points(all.nan_points());
  answer->set_first_nan(all.first_nan());
  mapped->answer = *std::move(answer);
  return mapped;
}

std::string MapCsv(const v1::MinimizeRequest& request, const SearchMap& map) {
  std::string csv = absl::StrCat(request.axes(0).name(), ",", request.axes(1).name(), ",value\n");
  for (int i = 0; i < map.columns; ++i) {
    for (int j = 0; j < map.rows; ++j) {
      const double value = map.values[static_cast<size_t>(i) * static_cast<size_t>(map.rows) +
                                      static_cast<size_t>(j)];
      absl::StrAppendFormat(&csv, "%.15g,%.15g,", MiddleOf(request.axes(0), i),
                            MiddleOf(request.axes(1), j));
      absl::StrAppend(&csv, std::isfinite(value) ? absl::StrFormat("%.15g", value) : "", "\n");
    }
  }
  return csv;
}

std::string MapSvg(const v1::MinimizeRequest& request, const MappedAnswer& mapped) {
  const SearchMap& map = mapped.map;
  Plot plot;
  plot.title = AnswerTitle(request);
  plot.subtitle = AnswerSubtitle(request, mapped.answer);
  PlotPanel& panel = plot.panels.emplace_back();
  panel.width = panel.height = 520;
  panel.x = ToPlotAxis(request, 0);
  panel.y = ToPlotAxis(request, 1);
  panel.cells.columns = map.columns;
  panel.cells.rows = map.rows;
  // A coordinate that falls is drawn rising.
  const bool turn_x = request.axes(0).step() < 0;
  const bool turn_y = request.axes(1).step() < 0;
  for (int i = 0; i < map.columns; ++i) {
    for (int j = 0; j < map.rows; ++j) {
      const int column = turn_x ? map.columns - 1 - i : i;
      const int row = turn_y ? map.rows - 1 - j : j;
      panel.cells.values.push_back(map.values[static_cast<size_t>(column * map.rows + row)]);
    }
  }
  PlotSeries best;
  best.label = BestLabel(request);
  best.line = false;
  best.mark = PlotMark::kTarget;
  if (!mapped.answer.top().empty()) {
    best.points.push_back({mapped.answer.point(0), mapped.answer.point(1)});
    panel.series.push_back(std::move(best));
  }
  plot.panels.push_back(ColourBar(ValueLabel(request), panel.cells));
  plot.panels.back().height = 520;
  return RenderSvg(plot);
}

}  // namespace baseband::ctl
