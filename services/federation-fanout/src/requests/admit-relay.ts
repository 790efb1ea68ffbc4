import { callerOf, type AppState } from '@gatehouse/service-kit'
import type { Middleware } from 'koa'
import type { Deps } from '../deps.ts'
import { refuse } from '../errors.ts'
import { policy } from '../policy.ts'
import { namedPeer } from './require-peer.ts'

type AdmissionDeps = Pick<Deps, 'orm' | 'provenAddresses'>

export type RelayAdmission = {
  /**
   * Admits the body of a relay before it is read: only of a peer, one at a time for each, eight in all. Anybody can name a
   * peer, so addresses from which it has not yet signed a request share a part of their own: one body for each peer and for
   * each address, four in all. They keep none of its bodies from being read. Throws signature_missing, peer_unknown,
   * relay_busy.
   */
  admit: Middleware<RelayState>
  /** After `requirePeer`: the body was the peer's, and counts as such until it has been answered. Throws relay_busy. */
  claim: Middleware<RelayState>
}

type RelayState = AppState & { relayBody?: ReadingBody }
type ReadingBody = { peerId: string; address: string; isProven: boolean }

/** For all relays of this process. Contract: 7, relay; docs/decisions/signed-requests.md. */
export function createRelayAdmission(deps: AdmissionDeps): RelayAdmission {
  const bodies = createReadingBodies()
  return {
    admit: async (ctx, next) => {
      const { id: peerId } = await namedPeer(deps, ctx.headers)
      const { address } = callerOf(ctx)
      const body = { peerId, address, isProven: deps.provenAddresses.includes(peerId, address) }
      if (!bodies.begin(body)) throw busy()
      ctx.state.relayBody = body
      try {
        await next()
      } finally {
        bodies.end(body)
      }
    },
    claim: async (ctx, next) => {
      const body = ctx.state.relayBody
      if (body && !bodies.claim(body)) throw busy()
      await next()
    },
  }
}

const busy = () => refuse.relay_busy({ headers: { 'Retry-After': '1' } })

function createReadingBodies() {
  const reading = new Set<ReadingBody>()
  const isRefused = (body: ReadingBody): boolean => {
    if (reading.size >= policy.relayBodiesAtOnce) return true
    const alike = [...reading].filter(({ isProven }) => isProven === body.isProven)
    if (alike.some(({ peerId }) => peerId === body.peerId)) return true
    if (body.isProven) return false
    return alike.length >= policy.unprovenBodiesAtOnce || alike.some(({ address }) => address === body.address)
  }
  return {
    /** False where it has to wait. */
    begin: (body: ReadingBody): boolean => !isRefused(body) && !!reading.add(body),
    /** False where another one of the peer is under way. */
    claim: (body: ReadingBody): boolean => {
      const isOther = (other: ReadingBody) => other !== body && other.isProven && other.peerId === body.peerId
      if ([...reading].some(isOther)) return false
      body.isProven = true
      return true
    },
    end: (body: ReadingBody): void => void reading.delete(body),
  }
}
