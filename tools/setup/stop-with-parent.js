// Preloaded into what the set-up scripts run: when the script was killed without a chance to pass a signal on, the
// program still stops, as if asked to.
const LOOK_EVERY_MS = 1_000
const parent = Number(process.env.GATEHOUSE_PARENT)

delete process.env.GATEHOUSE_PARENT // it concerns this process only, not those that it starts
if (parent) {
  const look = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(look)
    process.kill(process.pid, 'SIGTERM')
  }, LOOK_EVERY_MS)
  look.unref()
}
