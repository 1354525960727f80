#include "forked_program.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "assay/command_line.h"

namespace assay {
namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 16;

std::string next_text(std::string_view& texts) {
  const std::size_t end = texts.find('\0');
  std::string text(texts.substr(0, end));
  texts.remove_prefix(end + 1);
  return text;
}

void redirect(const char* file, int flags, int descriptor) {
  const int opened = open(file, flags | O_CLOEXEC, 0666);
  if (opened < 0 || dup2(opened, descriptor) < 0) std::_Exit(126);
  if (opened != descriptor) close(opened);
}

// The forked process. The texts are the directory, the seconds, the environment up to an empty
// text, and the words.
[[noreturn]] void run_texts(std::string_view texts) {
  if (chdir(next_text(texts).c_str()) != 0) std::_Exit(126);
  alarm(static_cast<unsigned>(std::stoi(next_text(texts))));
  redirect("/dev/null", O_RDONLY, STDIN_FILENO);
  redirect("stdout.txt", O_WRONLY | O_CREAT | O_TRUNC, STDOUT_FILENO);
  redirect("stderr.txt", O_WRONLY | O_CREAT | O_TRUNC, STDERR_FILENO);
  clearenv();
  for (std::string text = next_text(texts); !text.empty(); text = next_text(texts)) {
    const std::size_t equals = text.find('=');
    setenv(text.substr(0, equals).c_str(), text.c_str() + equals + 1, 1);
  }
  // The program starts itself to check files. This one is another program.
  setenv("ASSAY_FILE_CHECKER", ASSAY_TOOL, 0);
  std::vector<std::string> words;
  while (!texts.empty()) words.push_back(next_text(texts));
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  std::exit(run_command_line(static_cast<int>(words.size()), pointers.data()));
}

// The process that forks a process for each message, until the test program has ended.
[[noreturn]] void serve(int socket) {
  std::string message(kMostBytes, '\0');
  for (;;) {
    const ssize_t size = recv(socket, message.data(), message.size(), 0);
    if (size <= 0) std::_Exit(0);
    int status = -1;
    const pid_t pid = fork();
    if (pid == 0) {
      close(socket);
      run_texts(std::string_view(message.data(), static_cast<std::size_t>(size)));
    }
    if (pid > 0) waitpid(pid, &status, 0);
    if (send(socket, &status, sizeof status, MSG_NOSIGNAL) != sizeof status) std::_Exit(1);
  }
}

class Server : public testing::Environment {
 public:
  void SetUp() override {
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) return;
    std::fflush(nullptr);  // or both processes print it
    const pid_t pid = fork();
    if (pid == 0) {
      close(pair[0]);
      serve(pair[1]);
    }
    close(pair[1]);
    if (pid > 0) {
      pid_ = pid;
      socket_ = pair[0];
    } else {
      close(pair[0]);
    }
  }
  void TearDown() override {
    if (socket_ < 0) return;
    close(socket_);
    socket_ = -1;
    waitpid(pid_, nullptr, 0);
  }
  std::optional<int> run(const std::string& message) const {
    int status = -1;
    if (socket_ < 0 || message.size() > kMostBytes ||
        send(socket_, message.data(), message.size(), MSG_NOSIGNAL) < 0 ||
        recv(socket_, &status, sizeof status, 0) != sizeof status || status == -1) {
      return std::nullopt;
    }
    return status;
  }

 private:
  pid_t pid_ = -1;
  int socket_ = -1;
};

const Server* const server = static_cast<Server*>(testing::AddGlobalTestEnvironment(new Server));

}  // namespace

std::optional<std::vector<std::string>> plain_words(const std::string& line) {
  constexpr std::string_view kOfTheShell = "|&;<>()$`\\*?[]{}!#~\n\t";
  std::vector<std::string> words;
  for (std::size_t i = 0; i < line.size();) {
    if (line[i] == ' ') {
      ++i;
      continue;
    }
    std::string word;
    while (i < line.size() && line[i] != ' ') {
      const char c = line[i++];
      if (c == '\'' || c == '"') {
        const std::size_t end = line.find(c, i);
        if (end == std::string::npos) return std::nullopt;
        const std::string quoted = line.substr(i, end - i);
        if (c == '"' && quoted.find_first_of("$`\\") != std::string::npos) return std::nullopt;
        word += quoted;
        i = end + 1;
      } else if (kOfTheShell.find(c) != std::string_view::npos) {
        return std::nullopt;
      } else {
        word += c;
      }
    }
    words.push_back(word);
  }
  if (words.empty() || words[0] != "assay") return std::nullopt;
  return words;
}

std::optional<int> run_forked(const std::filesystem::path& directory, const std::string& path,
                              int seconds, const std::vector<std::string>& words) {
  std::string message = directory.string() + '\0' + std::to_string(seconds) + '\0';
  for (char** text = environ; *text != nullptr; ++text) {
    const std::string_view variable = *text;
    if (!variable.starts_with("PATH=") && variable.find('=') != std::string_view::npos) {
      message.append(variable) += '\0';
    }
  }
  message += "PATH=" + path + '\0' + '\0';
  for (const std::string& word : words) message += word + '\0';
  return server->run(message);
}

}  // namespace assay
