import { randomBytes } from 'node:crypto'
import type { User } from '../reference-peer/instance.ts'
import type { ReferencePeer } from '../reference-peer/reference-peer.ts'
import type { Road } from './road.ts'
import type { OurProcess } from './our-instance.ts'

export type SeenUser = Pick<User, 'id' | 'username' | 'displayName' | 'homeInstance' | 'homeUserId' | 'deleted'> & {
  /** A former replica whose home is another instance now. */
  formerHome: string | null
}
export type SeenOrder = { userId: string; origin: string; state: string }
export type InstanceState = { users: SeenUser[]; peers: Map<string, string>; queued: number; orders: SeenOrder[] }

type Common = {
  name: string
  origin: string
  host: string
  road: Road
  /** Rises when the data are lost. */
  life(): number
  isUp(): boolean
  /** Where clients reach it. */
  url(): string
  /** SIGKILL, or what comes nearest to it. */
  kill(): Promise<void>
  start(): Promise<void>
  loseData(): Promise<void>
  readState(): Promise<InstanceState>
  initiate(origin: string): Promise<unknown>
  /** What an admin may do where peering has gone wrong. */
  recheck(origin: string): Promise<unknown>
  reset(origin: string): Promise<unknown>
  forget(origin: string): Promise<unknown>
  rotate(origin: string): Promise<number>
  approveAll(): Promise<number>
}
export type OurPlace = Common & { kind: 'ours'; own: OurProcess }
export type ReferencePlace = Common & { kind: 'reference'; peer: ReferencePeer; people: Map<string, User> }
export type Place = OurPlace | ReferencePlace

export const newSecret = (): string => randomBytes(32).toString('hex')

export function referencePlace(name: string, origin: string, road: Road, peer: ReferencePeer): ReferencePlace {
  let [life, up] = [1, true]
  const people = new Map<string, User>()
  road.leadTo(peer.address)
  return {
    kind: 'reference',
    name,
    origin,
    host: new URL(origin).hostname,
    road,
    peer,
    people,
    life: () => life,
    isUp: () => up,
    url: () => peer.address,
    kill: async () => {
      up = false
      await peer.stop()
    },
    start: async () => {
      await peer.restart()
      up = true
    },
    loseData: async () => {
      await peer.stop()
      peer.loseData()
      people.clear()
      life += 1
      await peer.restart()
      up = true
    },
    readState: async () => ({
      users: peer.users().map((user) => ({
        ...user,
        homeInstance: user.detached ? null : user.homeInstance,
        formerHome: user.detached ? user.homeInstance : null,
      })),
      peers: new Map(peer.peers().map((one) => [one.origin, one.status])),
      queued: peer.outbox().length,
      orders: [],
    }),
    initiate: (other) => peer.initiate(other),
    recheck: (other) => peer.recheck(other),
    reset: async (other) => peer.reset(other),
    forget: async (other) => {
      peer.revoke(other)
      peer.forget(other)
    },
    rotate: async (other) => (await peer.rotate(other)).status,
    approveAll: async () => {
      const waiting = peer.requests()
      for (const { id } of waiting) await peer.approve(id)
      return waiting.length
    },
  }
}
