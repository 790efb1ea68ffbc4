import { setTimeout as pause } from 'node:timers/promises'
import { endpoints } from '@gatehouse/contracts'
import { deliverDue } from '@gatehouse/federation-fanout/deliver-profiles'
import { createBackgroundTasks } from '@gatehouse/runtime'
import { bareFanOut, openDeps, openOutbound, peerCount, startPeers, type Peer } from './fanout.ts'
import { absoluteLine, ratioLine, type Line } from './report.ts'
import { measureInRounds, timeOf, type Run } from './rounds.ts'

type Deps = Awaited<ReturnType<typeof openDeps>>

const person = '4242'

/** How long it takes until 200 peers know that an account is suspended, beside bare undici sending as much to them. */
export async function benchmark(run: Run): Promise<Line[]> {
  await using opening = new AsyncDisposableStack()
  const peers = await startPeers(opening)
  const deps = await openDeps(opening, peers)
  await suspend(deps)
  const [healthy, beside] = [peers.slice(0, peerCount), peers.slice(1)]
  const times = await measureInRounds(run.rounds(10), {
    bare: () => measureBare(healthy),
    ours: () => measureTold(deps, healthy, healthy),
    stalled: () => measureTold(deps, beside, beside.slice(0, -1)),
  })
  const format = (ms: number): string => `${ms.toFixed(0)} ms`
  const what = `account state to ${peerCount} peers`
  return [
    absoluteLine({ what, values: times.ours, peer: '', format, bound: { atMost: 1_000 } }),
    ratioLine({
      what,
      ours: times.ours,
      peer: { name: 'bare undici', values: times.bare },
      format,
      bound: null,
    }),
    ratioLine({
      what: `${what}, one of them stalled: the last of the others`,
      ours: times.stalled,
      peer: { name: 'none stalled', values: times.ours },
      format,
      bound: { atMost: 1.5 },
    }),
  ]
}

async function suspend({ orm }: Deps): Promise<void> {
  const sql = `insert into users (id, username, password_hash, suspended_at, suspension_changed_at, profile_updated_at)
    values (?, 'suspended', '!none', 20, 20, 5)`
  await orm.em.fork().execute(sql, [person])
}

/** Of the size that a suspended account has. */
async function measureBare(peers: readonly Peer[]): Promise<number> {
  const events = [
    { messageId: person, text: 'x'.repeat(450) },
    { messageId: `${person}-20`, text: 'x'.repeat(150) },
  ]
  await using bare = bareFanOut(peers, { ...endpoints.relay, body: { version: 1, events } })
  return await timeOf(bare.run)
}

/** Until nothing waits for those that answer. */
async function measureTold(deps: Deps, peers: readonly Peer[], answering: readonly Peer[]): Promise<number> {
  const em = deps.orm.em.fork()
  // Ends after the connections, on which it may wait.
  await using background = createBackgroundTasks(deps.log)
  await using outbound = openOutbound(peers)
  // Of the rounds before: ten failures would leave a peer out.
  await em.execute(`update peers set status = 'active', failed_deliveries = 0`)
  await em.execute(
    `insert into federation_deliveries (peer_id, user_id, version, next_attempt_at, expires_at)
     select id, ?, 20, now() - interval '1 second', now() + interval '1 day' from peers where origin = any(?::text[])`,
    [person, originsOf(peers)],
  )
  const countWaiting = async (): Promise<number> => {
    const sql = `select count(*)::int as count from federation_deliveries d join peers p on p.id = d.peer_id
      where p.origin = any(?::text[])`
    const [row] = await em.execute<{ count: number }[]>(sql, [originsOf(answering)])
    return row!.count
  }
  // Nothing else of the service is used.
  const service = { ...deps, outbound, background, relay: { notify: () => undefined } }
  const ms = await timeOf(async () => {
    await deliverDue(service as unknown as Parameters<typeof deliverDue>[0])
    while ((await countWaiting()) > 0) await pause(5)
  })
  await em.execute('delete from federation_deliveries')
  return ms
}

const originsOf = (peers: readonly Peer[]): string => `{${peers.map(({ origin }) => origin).join(',')}}`
