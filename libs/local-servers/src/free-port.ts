import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

// Below the range from which the system takes ports for outgoing connections, so that a server
// that was killed finds its port free when it comes back.
const LOWEST = 20_000
const HIGHEST = 32_000
const ATTEMPTS = 50

/** A TCP port on 127.0.0.1 that nobody listens on right now. */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const port = randomInt(LOWEST, HIGHEST)
    if (await isFree(port)) return port
  }
  throw new Error(`No free port found between ${LOWEST} and ${HIGHEST}`)
}

async function isFree(port: number): Promise<boolean> {
  const probe = createServer()
  try {
    probe.listen(port, '127.0.0.1')
    await once(probe, 'listening')
    return true
  } catch {
    return false
  } finally {
    probe.close()
  }
}
