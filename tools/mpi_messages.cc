#include "mpi_messages.h"

#define OMPI_SKIP_MPICXX 1  // mpi.h then declares only MPI's C interface
#include <mpi.h>

#include <chrono>
#include <limits>
#include <thread>

#include "assay/base/text.h"
#include "tools.h"

namespace assay::inline v0_2::tools {

void nap() { std::this_thread::sleep_for(std::chrono::microseconds(100)); }

Mpi::Mpi(int* argc, char*** argv) {
  int provided = 0;
  MPI_Init_thread(argc, argv, MPI_THREAD_SERIALIZED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  if (provided < MPI_THREAD_SERIALIZED) {
    if (rank_ == 0) print_error("error: this MPI library does not support threads");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
}

Mpi::~Mpi() { MPI_Finalize(); }

std::string Mpi::name() const {
  char host[MPI_MAX_PROCESSOR_NAME] = "";
  int length = 0;
  MPI_Get_processor_name(host, &length);
  return formatted("rank {} ({})", rank_, std::string(host, static_cast<std::size_t>(length)));
}

void Mpi::send(int to, int tag, const std::string& bytes) {
  if (bytes.size() > std::size_t{std::numeric_limits<int>::max()}) {
    throw std::runtime_error(
        formatted("{} bytes are too many for a message of MPI", grouped(std::ssize(bytes))));
  }
  MPI_Request request;
  {
    const std::lock_guard lock(mutex_);
    MPI_Isend(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, to, tag, MPI_COMM_WORLD,
              &request);
  }
  for (;; nap()) {
    const std::lock_guard lock(mutex_);
    int done = 0;
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (done) return;
  }
}

void Mpi::send_to_others(int tag, const std::string& bytes) {
  for (int rank = 1; rank < size_; ++rank) send(rank, tag, bytes);
}

std::optional<Message> Mpi::look() { return look(MPI_ANY_SOURCE, MPI_ANY_TAG); }

std::optional<Message> Mpi::look(int from, int tag) {
  const std::lock_guard lock(mutex_);
  int there = 0, size = 0;
  MPI_Status status;
  MPI_Iprobe(from, tag, MPI_COMM_WORLD, &there, &status);
  if (!there) return std::nullopt;
  MPI_Get_count(&status, MPI_BYTE, &size);
  Message message = {status.MPI_SOURCE, status.MPI_TAG,
                     std::string(static_cast<std::size_t>(size), '\0')};
  MPI_Recv(message.bytes.data(), size, MPI_BYTE, message.source, message.tag, MPI_COMM_WORLD,
           MPI_STATUS_IGNORE);
  return message;
}

void stop_other_ranks(Mpi& mpi) {
  mpi.send_to_others(kStop, "");
  for (int left = mpi.size() - 1; left > 0;) {
    const std::optional<Message> message = mpi.look();
    if (!message) nap();
    if (message && message->tag == kLeaving) --left;
  }
}

std::optional<std::string> OtherRank::start() {
  for (;; nap()) {
    if (const std::optional<Message> message = mpi_.look(0, kStart)) return message->bytes;
    if (stopped()) return std::nullopt;
  }
}

bool OtherRank::stopped() {
  if (!stopped_ && mpi_.look(0, kStop)) stopped_ = true;
  return stopped_;
}

void OtherRank::fail(const std::string& why) { mpi_.send(0, kFailure, mpi_.name() + ": " + why); }

void OtherRank::leave() {
  while (!stopped_) {
    const std::optional<Message> message = mpi_.look();
    if (!message) nap();
    if (message && message->tag == kStop) stopped_ = true;
  }
  mpi_.send(0, kLeaving, "");
}

}  // namespace assay::tools
