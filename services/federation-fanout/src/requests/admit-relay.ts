import { callerOf, type AppState } from '@gatehouse/service-kit'
import type { Middleware } from 'koa'
import type { Deps } from '../deps.ts'
import { refuse } from '@gatehouse/runtime'
import { policy } from '../policy.ts'
import { namedPeer } from './require-peer.ts'

type AdmissionDeps = Pick<Deps, 'orm' | 'provenAddresses'>

export type RelayAdmission = {
  /**
   * Before the body is read. One for each peer, eight in all. Unproven addresses share four: anybody can name a peer.
   * Throws signature_missing, peer_unknown, relay_busy.
   */
  admit: Middleware<RelayState>
  /** After `requirePeer`. Counts until answered. Throws relay_busy. */
  claim: Middleware<RelayState>
}

type RelayState = AppState & { relayBody?: ReadingBody }
type ReadingBody = { peerId: string; address: string; isProven: boolean }

/** Per process. Contract: 7, relay; docs/decisions/signed-requests.md. */
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
    begin: (body: ReadingBody): boolean => !isRefused(body) && !!reading.add(body),
    claim: (body: ReadingBody): boolean => {
      const isOther = (other: ReadingBody) => other !== body && other.isProven && other.peerId === body.peerId
      if ([...reading].some(isOther)) return false
      body.isProven = true
      return true
    },
    end: (body: ReadingBody): void => void reading.delete(body),
  }
}
