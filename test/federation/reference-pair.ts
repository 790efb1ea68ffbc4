import { createOutbound, parseCidrs, type Outbound } from '@gatehouse/outbound'
import { movableClock } from '@gatehouse/test-kit/time'
import { startTestInstance, type TestInstance } from '../../services/federation-fanout/test/harness.ts'
import { startReferencePeer, type ReferencePeerOptions } from '../reference-peer/reference-peer.ts'

export const ours = 'https://gate.example'
export const theirs = 'https://nova.example'

type Options = {
  autoAccept?: boolean
  reference?: ReferencePeerOptions
  publicOrigin?: string
}

type Gate = TestInstance & { addresses: Map<string, string> }

const day = 24 * 60 * 60_000

/** For the tests of one file, which share our service: its start takes longer than most of them. */
export function openReferencePairs(): (options?: Options) => Promise<ReferencePair> {
  const gates = new Map<string, Gate>()
  after(async () => {
    for (const gate of gates.values()) await gate[Symbol.asyncDispose]()
  })
  return async ({ publicOrigin = ours, ...options } = {}) => {
    const gate = gates.get(publicOrigin) ?? (await startGate(publicOrigin))
    gates.set(publicOrigin, gate)
    await emptyGate(gate, options.autoAccept ?? true)
    return await startReferencePair(gate, { publicOrigin, ...options })
  }
}

const startOfTime = 1784000000000

async function startGate(publicOrigin: string): Promise<Gate> {
  await using opening = new AsyncDisposableStack()
  const addresses = new Map<string, string>()
  const outbound = opening.use(routedOutbound(addresses))
  const resources = { clock: movableClock(startOfTime) }
  const gate = opening.use(await startTestInstance('a', { publicOrigin, resources, overrides: { outbound } }))
  const open = opening.move()
  return { ...gate, addresses, [Symbol.asyncDispose]: () => open.disposeAsync() }
}

const filledTables = [
  'peers',
  'peer_resets',
  'approval_requests',
  'federation_deliveries',
  'federation_nonces',
  'replica_hosts',
  'outbox',
  'audit_log',
]

/** As after its start, a day later: no peer, no account but the admin's, no limit used up. */
async function emptyGate({ deps, clock, addresses }: Gate, autoAccept: boolean): Promise<void> {
  await deps.background.idle()
  clock.advance(day)
  addresses.clear()
  const em = deps.orm.em.fork()
  for (const table of filledTables) await em.execute(`delete from ${table}`)
  await em.execute('delete from users where id <> 1')
  await em.execute('update instance_settings set auto_accept_peering = ?', [autoAccept])
}

/** Our federation service and a new reference peer under one clock. Nothing happens by itself. */
async function startReferencePair(gate: Gate, { publicOrigin = ours, reference = {} }: Options) {
  const { clock, addresses } = gate
  const { settings, ...rest } = reference
  const nova = await startReferencePeer({
    publicOrigin: theirs,
    instanceName: 'Nova',
    clock,
    timers: 'manual',
    resolve: addresses,
    settings: { limits: false, ...settings },
    ...rest,
  })
  addresses.set(publicOrigin, gate.address)
  addresses.set(theirs, nova.address)
  const peers = async () =>
    (await pair.gate.admin('GET', '/api/federation/peers')).body.peers as Record<string, unknown>[]

  const pair = {
    /** A test may put another process in its place. */
    gate: gate as TestInstance,
    nova,
    clock,
    addresses,
    peers,
    /** What each side has of the other. */
    states: async () => [(await peers())[0]?.status, nova.peer(publicOrigin)?.status],
    /** Lets both sides do what is due, `rounds` times with `stepMs` between. */
    run: async (rounds = 4, stepMs = 2_000) => {
      for (let round = 0; round < rounds; round += 1) {
        clock.advance(stepMs)
        await pair.gate.runDue()
        await nova.tick()
        await nova.idle()
      }
    },
    requests: async () =>
      (await pair.gate.admin('GET', '/api/federation/approval-requests')).body.requests as Record<string, string>[],
    [Symbol.asyncDispose]: () => nova.stop(),
  }
  return pair
}

export type ReferencePair = Awaited<ReturnType<typeof startReferencePair>>

/** Origins lead to where the test has them; an origin that leads nowhere is unreachable. */
function routedOutbound(addresses: ReadonlyMap<string, string>): Outbound {
  const real = createOutbound({ allowPrivate: parseCidrs('loopback'), resolve: {} })
  return {
    request: async (request) => {
      const { origin } = new URL(request.url)
      const url = `${addresses.get(origin) ?? 'http://127.0.0.1:9'}${request.url.slice(origin.length)}`
      return await real.request({ ...request, url })
    },
    [Symbol.asyncDispose]: () => real[Symbol.asyncDispose](),
  }
}
