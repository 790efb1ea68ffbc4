// The IPC channel closes when the owner of the servers has ended, by SIGKILL too.
import { rmSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { isRunning, killTree, signalProcess, signalTree } from './process-tree.ts'
import type { WatchdogMessage } from './watchdog.ts'

const shutdownLimitMs = 3_000

const watchedPids = new Map<number, NodeJS.Signals>()
const watchedFolders = new Set<string>()

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined)

process.on('message', (message: WatchdogMessage) => {
  if ('folder' in message) watchedFolders.add(message.folder)
  else if (message.signal) watchedPids.set(message.pid, message.signal)
  else watchedPids.delete(message.pid)
})

process.once('disconnect', () => void cleanUp())

async function cleanUp(): Promise<void> {
  for (const [pid, signal] of watchedPids) {
    signalTree(pid, 'SIGCONT')
    signalProcess(pid, signal)
  }
  const deadline = performance.now() + shutdownLimitMs
  while ([...watchedPids.keys()].some(isRunning) && performance.now() < deadline) await pause(20)
  for (const pid of watchedPids.keys()) await killTree(pid)
  for (const folder of watchedFolders) rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
}
