import { createOutbound, parseCidrs, type Outbound } from '@gatehouse/outbound'
import { movableClock } from '@gatehouse/test-kit/time'
import { startTestInstance, type TestInstance } from '../../services/federation-fanout/test/harness.ts'
import type { FederationOverrides } from '../../services/federation-fanout/src/service.ts'
import { startReferencePeer, type ReferencePeer, type ReferencePeerOptions } from '../reference-peer/reference-peer.ts'
import { startOfTime } from '../reference-peer/network.ts'

export const ours = 'https://gate.example'
export const theirs = 'https://nova.example'

type Options = {
  autoAccept?: boolean
  reference?: ReferencePeerOptions
  publicOrigin?: string
  overrides?: FederationOverrides
}

/** Our federation service and the reference peer under one clock. Nothing happens by itself. */
export async function startReferencePair({ autoAccept = true, reference = {}, ...options }: Options = {}) {
  await using opening = new AsyncDisposableStack()
  const clock = movableClock(startOfTime)
  const addresses = new Map<string, string>()
  const outbound = opening.use(routedOutbound(addresses))
  const { publicOrigin = ours } = options
  const gate: TestInstance = opening.use(
    await startTestInstance('a', {
      ...{ autoAccept, publicOrigin, resources: { clock } },
      overrides: { outbound, ...options.overrides },
    }),
  )
  const { settings, ...rest } = reference
  const nova: ReferencePeer = opening.use(
    await startReferencePeer({
      ...{ publicOrigin: theirs, instanceName: 'Nova', clock, timers: 'manual', resolve: addresses },
      settings: { limits: false, ...settings },
      ...rest,
    }),
  )
  addresses.set(publicOrigin, gate.address)
  addresses.set(theirs, nova.address)
  const peers = async () =>
    (await pair.gate.admin('GET', '/api/federation/peers')).body.peers as Record<string, unknown>[]

  const open = opening.move()
  const pair = {
    /** A test may put another process in its place. */
    gate,
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
    [Symbol.asyncDispose]: () => open.disposeAsync(),
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
