import { setTimeout as pause } from 'node:timers/promises'
import { reconnectDelayMs } from '../libs/client/src/wait.ts'
import { openRaw, type RawSocket } from './socket-raw.ts'
import { forwardedAs } from './socket-targets.ts'

export type Connection = { url: string; place: number; token: string }

/** To this process: whom to open, or that all are dropped and come back within the time. */
export type CrowdCommand = { open: Connection[]; secret: string } | { dropForMs: number }

/** From it: the time of each socket that was ready, in ms since the command. */
export type CrowdReport = { readyAfterMs: number[] }

const openedAtOnce = 64
let connections: Connection[] = []
let headersOf = forwardedAs('')
let sockets: RawSocket[] = []

const open = ({ url, place, token }: Connection): Promise<RawSocket> => openRaw(url, headersOf(place), token)

/** As the client library: with backoff, until it is ready or the time is over. */
async function comeBack(connection: Connection, startedAt: number, untilMs: number): Promise<number[]> {
  for (let attempt = 0; ; attempt += 1) {
    await pause(reconnectDelayMs(attempt, Math.random()))
    if (performance.now() - startedAt > untilMs) return []
    try {
      sockets.push(await open(connection))
      return [performance.now() - startedAt]
    } catch {
      // Refused or broken off: it tries again.
    }
  }
}

async function openAll(): Promise<number[]> {
  const startedAt = performance.now()
  const times: number[] = []
  const waiting = [...connections]
  const lane = async () => {
    for (let next = waiting.pop(); next; next = waiting.pop()) {
      sockets.push(await open(next))
      times.push(performance.now() - startedAt)
    }
  }
  await Promise.all(Array.from({ length: openedAtOnce }, lane))
  return times
}

async function dropAll(forMs: number): Promise<number[]> {
  const startedAt = performance.now()
  for (const { socket } of sockets) socket.destroy()
  sockets = []
  const back = connections.map((connection) => comeBack(connection, startedAt, forMs))
  const late = pause(forMs).then(() => 'late' as const)
  const times: number[] = []
  void Promise.all(back.map((one) => one.then((ready) => times.push(...ready))))
  await Promise.race([Promise.all(back), late])
  return times.filter((ms) => ms <= forMs)
}

async function obey(command: CrowdCommand): Promise<void> {
  if ('open' in command) {
    connections = command.open
    headersOf = forwardedAs(command.secret)
  }
  const readyAfterMs = 'open' in command ? await openAll() : await dropAll(command.dropForMs)
  process.send!({ readyAfterMs } satisfies CrowdReport)
}

process.on('message', (command: CrowdCommand) => void obey(command))
process.on('disconnect', () => process.exit(0))
