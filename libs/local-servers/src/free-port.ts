import { randomInt } from 'node:crypto'
import getPort, { portNumbers } from 'get-port'

// Below the range of outgoing connections (Linux: 32768 and above), so that a server that was killed finds its port free
// when it is started again.
const lowestPort = 20_000
const highestPort = 32_000

/** A TCP port of 127.0.0.1 without a listener. From a random start: test files search at the same time. */
export function freePort(): Promise<number> {
  const first = randomInt(lowestPort, highestPort)
  return getPort({ host: '127.0.0.1', port: [...portNumbers(first, highestPort), ...portNumbers(lowestPort, first)] })
}
