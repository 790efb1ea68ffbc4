import { accountStateOf, type UserFacts } from '@gatehouse/domain'
import { violates } from '@gatehouse/database'
import { setTimeout as gather } from 'node:timers/promises'
import { judgeToken } from '@gatehouse/auth'
import { isHere, type LocalUser } from '../connections.ts'
import { createDeadlines } from '../deadlines.ts'
import type { Deps } from '../deps.ts'
import { policy } from '../policy.ts'
import type { SessionSocket } from '../socket/session-socket.ts'
import { planBatch, type Batch } from './plan-batch.ts'
import { readAudience, settlePresence, type Person, type Settled } from './settle-presence.ts'
import { orAborted } from './or-aborted.ts'

/** What a handshake needs to know: the account as it is, and who else of its circle is online. */
export type Arrival = { person: Person; presentIds: string[] }

/** Brings the database in line with who has sockets on this node. */
export type PresenceKeeper = AsyncDisposable & {
  /** Resolves with the truth about the socket's user, who counts as present if let in; undefined when unknown. */
  arrive(socket: SessionSocket): Promise<Arrival | undefined>
  /** The last socket of a user has gone: they leave after the grace period, or at once when they were thrown out. */
  abandon(user: LocalUser): void
  /** Writes everybody down anew, after the database has forgotten this node. */
  rejoin(): void
}

type Needs = Pick<Deps, 'orm' | 'log' | 'connections' | 'broadcaster' | 'timings'> & {
  node: { readonly id: string; renew(): Promise<void> }
}

/**
 * One piece of work at a time for the whole node: what comes meanwhile waits for the next, so that a thousand handshakes
 * cost a few statements, and coming and going of one user cannot overtake each other.
 */
export function createPresenceKeeper(deps: Needs): PresenceKeeper {
  const { connections, timings, broadcaster } = deps
  const queue = new Set<LocalUser>()
  const grace = createDeadlines<LocalUser>(timings.graceMs, (user) => {
    user.isDue = !isHere(user)
    enqueue(user)
  })
  let working: Promise<void> | undefined
  let pause: NodeJS.Timeout | undefined
  let stopped = false

  function enqueue(user: LocalUser): void {
    queue.add(user)
    if (!working && !pause && !stopped) working = work().finally(() => (working = undefined))
  }

  function wakeAfter(ms: number): void {
    pause ??= setTimeout(() => {
      pause = undefined
      for (const user of queue) return enqueue(user)
    }, ms).unref()
  }

  async function work(): Promise<void> {
    await gather(timings.gatherMs)
    while (queue.size > 0 && !pause && !stopped) {
      const batch = planBatch(queue, connections, policy.settleBatch)
      try {
        if (batch.size > 0) finish(batch, await settle(batch))
      } catch (error) {
        deps.log.warn({ error }, 'presence could not be settled')
        for (const [user, { arriving }] of batch) {
          arriving?.reject(error)
          queue.add(user)
        }
        wakeAfter(timings.databaseRetryMs)
      }
    }
  }

  async function settle(batch: Batch): Promise<Settled> {
    const members = [...batch]
    const limit = AbortSignal.timeout(timings.databaseLimitMs)
    const attempt = () =>
      settlePresence(deps, {
        nodeId: deps.node.id,
        arrivals: members.filter(([, { isArrival }]) => isArrival).map(([user]) => user.id),
        departures: members.filter(([, { isArrival }]) => !isArrival).map(([user]) => user.id),
        isWelcome: (user) => isWelcome(connections.find(user.id), user),
        isDue: (userId) => isDue(connections.find(userId)),
        signal: limit,
      })
    try {
      return await orAborted(attempt(), limit)
    } catch (error) {
      if (!violates(error, 'presences_node_id_fkey')) throw error
      await deps.node.renew()
      return await orAborted(attempt(), limit)
    }
  }

  /** Takes over what is committed, then tells those who wait and those who are to hear of it. */
  function finish(batch: Batch, settled: Settled): void {
    const locked = new Set(settled.locked)
    for (const [user, { arriving }] of batch) if (locked.has(user.id)) comeAgain(user, arriving)
    if (locked.size > 0) wakeAfter(timings.lockedRetryMs)
    const gone = new Set(settled.gone)
    const welcome = new Set(settled.welcome)
    for (const user of batch.keys()) {
      if (gone.has(user.id)) user.present = false
      if (welcome.has(user.id)) noteWelcome(user)
      if (user.sockets.size === 0 && !locked.has(user.id)) keeper.abandon(user)
      else if (gone.has(user.id)) queue.add(user)
    }
    void tell(new Map([...batch].filter(([user]) => !locked.has(user.id))), settled)
  }

  function noteWelcome(user: LocalUser): void {
    user.present = true
    grace.delete(user)
    // Whoever was thrown out while this was being written down stays due.
    if (user.sockets.size > 0) user.isDue = false
  }

  function comeAgain(user: LocalUser, arriving: LocalUser['arriving']): void {
    queue.add(user)
    if (user.arriving && arriving) user.arriving.promise.then(arriving.resolve, arriving.reject)
    else user.arriving ??= arriving
  }

  async function tell(batch: Batch, { people, welcome, changes }: Settled): Promise<void> {
    try {
      const userIds = new Set([...welcome, ...changes.map(({ userId }) => userId)])
      const audience = await readAudience(deps, [...userIds])
      const present = Map.groupBy(audience, ({ userId }) => userId)
      for (const [user, { arriving }] of batch) {
        const person = people.get(user.id)
        const presentIds = (present.get(user.id) ?? []).flatMap(({ recipients }) => recipients)
        arriving?.resolve(person && { person, presentIds })
      }
      broadcaster.publish(changes, audience)
    } catch (error) {
      broadcaster.postpone(changes)
      for (const { arriving } of batch.values()) arriving?.reject(error)
    }
  }

  const keeper: PresenceKeeper = {
    arrive(socket) {
      const user = socket.user!
      user.arriving ??= Promise.withResolvers()
      const { promise } = user.arriving
      enqueue(user)
      return promise
    },
    // A grace that runs is not prolonged: since it began nobody was let in, only turned away.
    abandon(user) {
      if (!user.present || user.isDue) enqueue(user)
      else if (!grace.has(user)) grace.add(user)
    },
    rejoin() {
      for (const user of connections.users()) {
        user.present = false
        enqueue(user)
      }
    },
    async [Symbol.asyncDispose]() {
      stopped = true
      grace.stop()
      clearTimeout(pause)
      await working
    },
  }
  return keeper
}

function isDue(local: LocalUser | undefined): boolean {
  return local !== undefined && local.isDue && !isHere(local)
}

/** Somebody is here who was let in before, or whose token still counts. */
function isWelcome(local: LocalUser | undefined, user: UserFacts): boolean {
  const state = accountStateOf(user)
  return [...(local?.sockets ?? [])].some((socket) => socket.phase === 'ready' || judgeToken(socket, state) === 'live')
}
