// Preloaded into the programs of run-program.js: when that process was killed, and could not forward a signal, the
// program gets SIGTERM.
const pollIntervalMs = 1_000
const parent = Number(process.env.GATEHOUSE_PARENT)

delete process.env.GATEHOUSE_PARENT // child processes must not inherit it
if (parent) {
  const poll = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(poll)
    process.kill(process.pid, 'SIGTERM')
  }, pollIntervalMs)
  poll.unref()
}
