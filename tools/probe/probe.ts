import { setTimeout as pause } from 'node:timers/promises'
import type { Adapter, Credential, ProbedSocket } from './adapters.ts'

const emptyResult = (act: string) => ({
  act,
  /** Sent after the answer. */
  requests: 0,
  accepted: 0,
  lastAcceptedMs: 0,
  /** Of sockets, sent after the answer. */
  messages: 0,
  messagesAccepted: 0,
  lastMessageMs: 0,
  /** Only where the act ends sockets. */
  sockets: 0,
  /** Null where a socket stayed open. */
  lastClosedMs: 0 as number | null,
})
/** After the answer to an act, in milliseconds. */
export type Result = ReturnType<typeof emptyResult>

type ProbeOptions = {
  adapter: Adapter
  /** The first is asked to revoke. */
  origins: readonly [string, ...string[]]
  rounds: number
  watchMs: number
  /** At each origin. */
  concurrency?: number
}

/** An account has 30 messages and two more each second on a node. */
const betweenMessagesMs = 150
const secondMs = 1_000

export async function probe({ adapter, origins, rounds, watchMs, concurrency = 4 }: ProbeOptions): Promise<Result[]> {
  await adapter.prepare(origins[0])
  const results: Result[] = []
  for (const [name, { endsSockets = false, run }] of Object.entries(adapter.acts)) {
    const result = emptyResult(name)
    results.push(result)
    for (let round = 0; round < rounds; round += 1) {
      const old = await adapter.logIn(origins[0])
      const actor = await logInAnew(adapter, origins[0], old)
      const opened = origins.map(async (origin) => (await adapter.openSocket?.(origin, old)) ?? [])
      const sockets = (await Promise.all(opened)).flat()
      const round = { adapter, origins, sockets, old, concurrency, watchMs, result, endsSockets }
      await probeOnce(round, () => run(origins[0], actor))
    }
  }
  return results
}

/** Two logins of one second may give one session. */
async function logInAnew({ logIn }: Adapter, origin: string, old: Credential): Promise<Credential> {
  let session = await logIn(origin)
  while (JSON.stringify(session) === JSON.stringify(old)) {
    await pause(secondMs)
    session = await logIn(origin)
  }
  return session
}

type Round = Omit<Required<ProbeOptions>, 'rounds'> & {
  sockets: ProbedSocket[]
  old: Credential
  result: Result
  endsSockets: boolean
}

async function probeOnce(
  { adapter, origins, sockets, old, concurrency, watchMs, result, endsSockets }: Round,
  act: () => Promise<unknown>,
) {
  let answeredAt = Infinity
  const stopping = new AbortController()
  const since = () => performance.now() - answeredAt

  async function ask(url: string): Promise<void> {
    while (!stopping.signal.aborted) {
      const sentAt = performance.now()
      const isAccepted = await fetch(url, { headers: old, signal: stopping.signal }).then(hasSession, () => false)
      if (sentAt < answeredAt) continue
      result.requests += 1
      if (!isAccepted) continue
      result.accepted += 1
      result.lastAcceptedMs = Math.max(result.lastAcceptedMs, since())
    }
  }

  async function talk(socket: ProbedSocket): Promise<void> {
    while (!stopping.signal.aborted) {
      const sentAt = performance.now()
      const isAccepted = await socket.isAccepted()
      if (sentAt >= answeredAt && isAccepted !== null) {
        result.messages += 1
        if (isAccepted) {
          result.messagesAccepted += 1
          result.lastMessageMs = Math.max(result.lastMessageMs, since())
        }
      }
      await pause(betweenMessagesMs)
    }
  }

  function watch(socket: ProbedSocket): () => void {
    let closedMs: number | null = null
    socket.onClose(() => (closedMs = Math.max(0, since())))
    return () => {
      socket.close()
      if (!endsSockets) return
      result.sockets += 1
      const isOpen = closedMs === null || result.lastClosedMs === null
      result.lastClosedMs = isOpen ? null : Math.max(result.lastClosedMs ?? 0, closedMs ?? 0)
    }
  }

  for (const origin of origins) {
    const response = await fetch(origin + adapter.read.path, { headers: old })
    if (!(await hasSession(response))) throw new Error(`${origin} does not accept a session before it is revoked`)
  }
  const watched = sockets.map(watch)
  const asking = origins.flatMap((origin) => Array.from({ length: concurrency }, () => ask(origin + adapter.read.path)))
  const talking = sockets.map(talk)
  await act()
  answeredAt = performance.now()
  await pause(watchMs)
  stopping.abort()
  await Promise.all([...asking, ...talking])
  for (const stop of watched) stop()
}

/** better-auth answers a request without a session with 200 and `null`. */
const hasSession = async (response: Response): Promise<boolean> => (await response.text()) !== 'null' && response.ok
