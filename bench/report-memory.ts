/** Imported into a measured process: on SIGUSR2 it collects garbage and writes down what memory it uses. */
import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'

process.on('SIGUSR2', () => void tellMemory())

async function tellMemory(): Promise<void> {
  // Finalizers of one collection make garbage for the next.
  for (let turn = 0; turn < 4; turn += 1) {
    globalThis.gc?.()
    await pause(50)
  }
  const file = join(process.env.MEMORY_FOLDER!, String(process.pid))
  writeFileSync(`${file}.new`, JSON.stringify(process.memoryUsage()))
  renameSync(`${file}.new`, file)
}
