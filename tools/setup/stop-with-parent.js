// Preloaded by run-program.js: SIGTERM when that process was killed.
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
