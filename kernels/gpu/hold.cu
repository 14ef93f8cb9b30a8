// Keeps the device busy for a while. Work that is queued meanwhile then starts without waiting for the host, so only the
// device's time is measured. One thread.
extern "C" __global__ void hold(unsigned long long nanoseconds)
{
    unsigned long long begin, now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(begin));
    do {
        __nanosleep(1000);
        asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    } while (now - begin < nanoseconds);
}
