#include "sink.hpp"

#include <cerrno>
#include <new>
#include <pthread.h>
#include <unistd.h>

#include "fault.hpp"

struct Gate {
    explicit Gate(int64_t permits) : free(permits) {}
    Gate(const Gate&) = delete;
    Gate& operator=(const Gate&) = delete;
    ~Gate()
    {
        pthread_cond_destroy(&changed);
        pthread_mutex_destroy(&mutex);
    }

    void enter()
    {
        pthread_mutex_lock(&mutex);
        while (free == 0) pthread_cond_wait(&changed, &mutex);
        --free;
        pthread_mutex_unlock(&mutex);
    }
    void leave()
    {
        pthread_mutex_lock(&mutex);
        ++free;
        pthread_mutex_unlock(&mutex);
        pthread_cond_signal(&changed);
    }

    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
    int64_t free;
};

struct Gate* gm_gate_open(int64_t permits)
{
    try {
        return new Gate(permits);
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}

void gm_gate_close(struct Gate* gate) { delete gate; }

namespace {

constexpr int64_t LARGEST_CALL = 1 << 30;

class Inside {
public:
    explicit Inside(Gate* gate) : gate_(gate)
    {
        if (gate_ != nullptr) gate_->enter();
    }
    ~Inside()
    {
        if (gate_ != nullptr) gate_->leave();
    }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;

private:
    Gate* gate_;
};

}  // namespace

void write_sink(const SinkSpec& sink, const unsigned char* data, int64_t nbytes)
{
    const int64_t piece = sink.piece > 0 && sink.piece < LARGEST_CALL ? sink.piece : LARGEST_CALL;
    const Inside inside(sink.gate);
    for (int64_t at = sink.start; nbytes > 0;) {
        const int64_t most = piece - at % piece, count = nbytes < most ? nbytes : most;
        const ssize_t written = pwrite(static_cast<int>(sink.descriptor), data, static_cast<size_t>(count), at);
        if (written < 0) {
            if (errno == EINTR) continue;
            throw Fault{WRITE_FAILED, {errno, -1, at}};
        }
        if (written == 0) throw Fault{WRITE_FAILED, {EIO, -1, at}};
        data += written;
        at += written;
        nbytes -= written;
    }
}
