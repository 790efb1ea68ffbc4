import { limits } from '@gatehouse/contracts'
import { callerOf, peerNetwork, type AppState } from '@gatehouse/service-kit'
import type { Middleware } from 'koa'
import type { Deps } from '../deps.ts'
import { refuse } from '@gatehouse/runtime'
import { policy } from '../policy.ts'
import type { BodyReading } from './raw-body.ts'
import { namedPeer } from './require-peer.ts'

export type RelayState = AppState & { bodyReading?: BodyReading; relayBody?: RelayBody }
type RelayBody = { peerId: string; network: string; isProven: boolean }

/** Per process. Contract: 7, relay; docs/decisions/peering.md. */
export function createRelayAdmission({ signingNetworks, ...deps }: Pick<Deps, 'orm' | 'signingNetworks'>) {
  const bodies = new Set<RelayBody>()
  const isFull = () => bodies.size >= policy.relayBodiesAtOnce
  const isRefused = ({ peerId, network, isProven }: RelayBody): boolean => {
    const alike = [...bodies].filter((other) => other.isProven === isProven)
    if (isFull() || alike.some((other) => other.peerId === peerId)) return true
    if (isProven) return false
    return alike.length >= policy.unprovenBodiesAtOnce || alike.some((other) => other.network === network)
  }
  /**
   * Before the body is read. A small body needs no place, because it is verified at once. Large ones of active peers have
   * one place for each peer and eight in all. Networks from which a peer has never signed share four of them: anybody can
   * name a peer. Throws signature_missing, peer_unknown, and while the body is read relay_busy.
   */
  const admit: Middleware<RelayState> = async (ctx, next) => {
    const peer = await namedPeer(deps, ctx.headers)
    const { address } = callerOf(ctx)
    const body: RelayBody = { peerId: peer.id, network: peerNetwork(address), isProven: false }
    const enlarge = async () => {
      body.isProven = await signingNetworks.includes(peer, address)
      if (isRefused(body)) throw busy()
      bodies.add(body)
    }
    const large = { maxBytes: policy.relayBodyBytes, smallBytes: limits.jsonBodyBytes, enlarge }
    ctx.state.bodyReading = { pace: policy.relayPace, ...(peer.isActive() && large) }
    ctx.state.relayBody = body
    try {
      await next()
    } finally {
      bodies.delete(body)
    }
  }
  /** After `requirePeer`. Counts until answered. Throws relay_busy. */
  const claim: Middleware<RelayState> = async (ctx, next) => {
    const body = ctx.state.relayBody
    const isOther = (other: RelayBody) => other !== body && other.isProven && other.peerId === body?.peerId
    if (body && ((!bodies.has(body) && isFull()) || [...bodies].some(isOther))) throw busy()
    if (body) bodies.add(Object.assign(body, { isProven: true }))
    await next()
  }
  return { admit, claim }
}

const busy = () => refuse.relay_busy({ headers: { 'Retry-After': '1' } })
