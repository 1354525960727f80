// Messages between the ranks of an MPI job, and the end of all ranks after an error on one of them.
//
// Rank 0 does what the command does in one process: it reads, writes and prints. The other ranks
// compute, and send what they computed to rank 0.
//
// No rank waits inside MPI, for two reasons: OpenMPI keeps a whole core busy while it waits, and an
// error must reach every waiting rank. Each rank looks for a message, and sleeps briefly if no
// message is there. An error on any rank is sent to rank 0, which reports it and stops all others.
#pragma once

#include <atomic>
#include <cstring>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>

namespace assay::inline v0_2::tools {

// Message tags of every command. Rank 0 receives failures, and the last message of each rank. The
// others receive the start and the end. A command adds tags of its own from kFirstOfCommand on.
enum Tag : int { kFailure = 1, kLeaving, kStart, kStop, kFirstOfCommand };

struct Message {
  int source = 0, tag = 0;
  std::string bytes;
};

// Sleeps briefly.
void nap();

// The MPI library, called by one thread at a time.
class Mpi {
 public:
  Mpi(int* argc, char*** argv);
  ~Mpi();
  Mpi(const Mpi&) = delete;
  Mpi& operator=(const Mpi&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  // Returns the rank and its host, for a message.
  std::string name() const;

  // Sends a message. Returns when the library no longer needs the bytes.
  void send(int to, int tag, const std::string& bytes);
  // Sends a message from rank 0 to each of the others.
  void send_to_others(int tag, const std::string& bytes);
  // Return a message that has arrived, or nothing. look() with a tag leaves messages with other
  // tags.
  std::optional<Message> look();
  std::optional<Message> look(int from, int tag);

 private:
  int rank_ = 0, size_ = 1;
  std::mutex mutex_;
};

// The bytes of a value in a message. All ranks run the same program.
template <class T>
std::string bytes_of(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}
template <class T>
T value_of(const std::string& bytes) {
  if (bytes.size() < sizeof(T)) {
    throw std::runtime_error("a message of an unknown program was received");
  }
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

// Thrown through a computation to end it when it is no longer needed.
struct Stopped {};

// Rank 0 calls this at its end, after success as well as after an error. Ends all other ranks.
// Receives the messages that they still send, because a rank cannot end before that.
void stop_other_ranks(Mpi& mpi);

// A rank other than rank 0.
class OtherRank {
 public:
  explicit OtherRank(Mpi& mpi) : mpi_(mpi) {}

  Mpi& mpi() const { return mpi_; }
  // Waits for the start. Returns the text that came with it, or nothing if rank 0 ends this rank.
  std::optional<std::string> start();
  // True if rank 0 has ended this rank.
  bool stopped();
  // Sends an error to rank 0, which reports it with the name of this rank.
  void fail(const std::string& why);
  // Waits until rank 0 ends this rank. Receives other messages until then, because rank 0 cannot
  // finish sending them otherwise.
  void leave();

 private:
  Mpi& mpi_;
  std::atomic<bool> stopped_ = false;
};

}  // namespace assay::tools
