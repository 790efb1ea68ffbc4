// Runs beside a process that owns servers. When that process is gone, however it ended, its standard input closes: then it
// ends the servers and removes their folders. Each line of input is one of the messages of watchdog.ts.
import { rmSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import { isRunning, killTree, signalProcess, signalTree } from './process-tree.ts'
import type { WatchdogMessage } from './watchdog.ts'

const END_WITHIN_MS = 3_000

const wards = new Map<number, NodeJS.Signals>()
const folders = new Set<string>()

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined)

for await (const line of createInterface({ input: process.stdin })) {
  const message = JSON.parse(line) as WatchdogMessage
  if ('folder' in message) folders.add(message.folder)
  else if (message.endBy) wards.set(message.pid, message.endBy)
  else wards.delete(message.pid)
}

for (const [pid, signal] of wards) {
  signalTree(pid, 'SIGCONT')
  signalProcess(pid, signal)
}
const deadline = performance.now() + END_WITHIN_MS
while ([...wards.keys()].some(isRunning) && performance.now() < deadline) await pause(20)
for (const pid of wards.keys()) await killTree(pid)
for (const folder of folders) rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
