#include "mapping.hpp"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "fault.hpp"

// One entry of a table that the handler of a signal reads. So it never moves, and what the handler reads is atomic.
struct MappedFile {
    std::atomic<uintptr_t> start{0}, size{0};  // size: of whole pages; start 0: the entry is free
    std::atomic<bool> lost{false};
    // The mutex guards everything below.
    int64_t users = 0;
    bool closed = false;
    int64_t low = 0, high = 0, written = 0;  // bytes written since pages were unmapped, and the places between which they lie
};

namespace {

constexpr int MOST_FILES = 64;
// Each time pages are unmapped, all cores forget all translations.
constexpr int64_t MOST_WRITTEN = 16 << 20;
constexpr int64_t PIECE = 8 << 20;
constexpr int64_t AHEAD = 8 << 20;
constexpr int POPULATE_WRITE = 23;  // MADV_POPULATE_WRITE, of Linux 5.14; headers may be older

MappedFile files[MOST_FILES];
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
struct sigaction before;  // what SIGBUS did before
uintptr_t page = 0;       // bytes of a page; 0 as long as SIGBUS is not handled

class Locked {
public:
    Locked() { pthread_mutex_lock(&mutex); }
    ~Locked() { pthread_mutex_unlock(&mutex); }
    Locked(const Locked&) = delete;
    Locked& operator=(const Locked&) = delete;
};

void* at_address(uintptr_t address) { return reinterpret_cast<void*>(address); }

// Has the handler that was there before do what it does.
void pass_on(int number, siginfo_t* info, void* context)
{
    const bool sent = info->si_code <= 0;  // by a program; else an instruction caused it, and runs again after the handler
    if (before.sa_flags & SA_SIGINFO) return before.sa_sigaction(number, info, context);
    if (before.sa_handler == SIG_IGN && sent) return;
    if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) return before.sa_handler(number);
    struct sigaction usual;
    std::memset(&usual, 0, sizeof usual);
    usual.sa_handler = SIG_DFL;
    sigaction(number, &usual, nullptr);
    if (sent) raise(number);  // it comes when this handler is done
}

void on_bus_error(int number, siginfo_t* info, void* context)
{
    const uintptr_t at = reinterpret_cast<uintptr_t>(info->si_addr);
    for (MappedFile& file : files) {
        const uintptr_t start = file.start.load();
        if (info->si_code <= 0 || start == 0 || at < start || at - start >= file.size.load()) continue;
        const int error = errno;
        const bool mended = mmap(at_address(at / page * page), page, PROT_READ | PROT_WRITE,
            MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED;
        errno = error;
        file.lost = true;
        if (mended) return;
    }
    pass_on(number, info, context);
}

// Whether bus errors are handled from now on. The caller has locked the mutex.
bool handle_bus_errors()
{
    if (page != 0) return true;
    struct sigaction ours;
    std::memset(&ours, 0, sizeof ours);
    ours.sa_sigaction = on_bus_error;
    ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&ours.sa_mask);
    page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
    if (sigaction(SIGBUS, nullptr, &before) != 0 || sigaction(SIGBUS, &ours, nullptr) != 0) page = 0;
    return page != 0;
}

// The entry of a mapping, null if there is none. The caller has locked the mutex.
MappedFile* entry_of(const unsigned char* memory)
{
    for (MappedFile& file : files)
        if (memory != nullptr && file.start == reinterpret_cast<uintptr_t>(memory) && !file.closed) return &file;
    return nullptr;
}

// Unmaps what is closed and in nobody's use. The caller has locked the mutex.
void release(MappedFile& file)
{
    if (!file.closed || file.users > 0) return;
    const uintptr_t start = file.start.exchange(0);
    munmap(at_address(start), file.size);
}

}  // namespace

HeldMapping::HeldMapping(const unsigned char* memory)
{
    const Locked locked;
    file_ = entry_of(memory);
    if (file_ == nullptr) throw Fault{WRITE_FAILED, {EBADF, -1, 0}};
    ++file_->users;
}

HeldMapping::~HeldMapping()
{
    const Locked locked;
    --file_->users;
    release(*file_);
}

void HeldMapping::wrote(int64_t position, int64_t nbytes)
{
    int64_t low, high;
    {
        const Locked locked;
        file_->low = file_->written == 0 ? position : std::min(file_->low, position);
        file_->high = std::max(file_->written == 0 ? 0 : file_->high, position + nbytes);
        file_->written += nbytes;
        if (file_->written < MOST_WRITTEN) return;
        file_->written = 0;
        low = file_->low / static_cast<int64_t>(page) * static_cast<int64_t>(page);
        high = file_->high;
    }
    madvise(at_address(file_->start + static_cast<uintptr_t>(low)), static_cast<size_t>(high - low), MADV_DONTNEED);
}

void HeldMapping::check() const
{
    if (file_->lost) throw Fault{WRITE_FAILED, {EIO, -1, 0}};
}

unsigned char* gm_map(int64_t descriptor, int64_t nbytes)
{
    const Locked locked;
    if (!handle_bus_errors()) return nullptr;
    for (MappedFile& file : files) {
        if (file.start != 0) continue;
        const size_t size = (static_cast<size_t>(nbytes) + page - 1) / page * page;
        void* const memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, static_cast<int>(descriptor), 0);
        if (memory == MAP_FAILED) return nullptr;
        madvise(memory, size, MADV_HUGEPAGE);
        file.lost = file.closed = false;
        file.written = 0;
        file.size = size;
        file.start = reinterpret_cast<uintptr_t>(memory);
        return static_cast<unsigned char*>(memory);
    }
    return nullptr;
}

void gm_unmap(unsigned char* memory)
{
    const Locked locked;
    MappedFile* const file = entry_of(memory);
    if (file == nullptr) return;
    file->closed = true;
    release(*file);
}

int64_t gm_map_lost(const unsigned char* memory)
{
    const Locked locked;
    const MappedFile* const file = entry_of(memory);
    return file != nullptr && file->lost;
}

int64_t gm_map_write(unsigned char* memory, int64_t position, const unsigned char* data, int64_t nbytes)
{
    Failure failure;
    return stopped_by(&failure, [&] {
        HeldMapping held(memory);
        for (int64_t done = 0; done < nbytes; done += PIECE) {
            const int64_t here = std::min(PIECE, nbytes - done);
            std::memcpy(memory + position + done, data + done, static_cast<size_t>(here));
            held.wrote(position + done, here);
        }
        held.check();
    });
}

int64_t gm_map_ahead(unsigned char* memory, int64_t nbytes, int64_t processes, int64_t* ids)
{
    const pid_t parent = getpid();
    int64_t started = 0;
    for (; started < processes; ++started) {
        // Not by fork(), which runs functions that libraries have registered. The child makes system calls and nothing else.
        const long id = syscall(SYS_clone, 0L, 0L, 0L, 0L, 0L);
        if (id < 0) break;
        if (id == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            for (int64_t at = started * AHEAD; at < nbytes && getppid() == parent; at += processes * AHEAD) {
                const size_t here = static_cast<size_t>(std::min(AHEAD, nbytes - at));
                if (madvise(memory + at, here, POPULATE_WRITE) != 0) break;
                madvise(memory + at, here, MADV_DONTNEED);  // the page cache keeps them; the process need not
            }
            _exit(0);
        }
        ids[started] = id;
    }
    return started;
}

void gm_map_ahead_end(const int64_t* ids, int64_t count)
{
    for (int64_t at = 0; at < count; ++at) kill(static_cast<pid_t>(ids[at]), SIGKILL);
    for (int64_t at = 0; at < count; ++at)
        while (waitpid(static_cast<pid_t>(ids[at]), nullptr, __WALL) < 0 && errno == EINTR) continue;
}
