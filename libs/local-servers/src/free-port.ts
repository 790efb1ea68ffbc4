import { randomInt } from 'node:crypto'
import getPort, { portNumbers } from 'get-port'

// Outgoing connections use higher ports (Linux: 32768 and above), which a restart may then find taken.
const lowestPort = 20_000
const highestPort = 32_000

/** `preferred` where it is free, else a random one: test files search at the same time. */
export function freePort(preferred?: number): Promise<number> {
  const first = randomInt(lowestPort, highestPort)
  return getPort({
    host: '127.0.0.1',
    port: [...(preferred ? [preferred] : []), ...portNumbers(first, highestPort), ...portNumbers(lowestPort, first)],
  })
}
