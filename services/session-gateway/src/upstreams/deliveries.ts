import { snowflake, upstreamLimits } from '@gatehouse/contracts'
import { bigintArray, read } from '@gatehouse/database'
import { coalesce, shareWork } from '@gatehouse/runtime'
import type { OccasionalLog } from '@gatehouse/service-kit'
import { readJson, upstreamAnnouncement, upstreamDelivery } from '@gatehouse/upstreams'
import type { UpstreamDelivery, UpstreamQuestions } from '@gatehouse/upstreams'
import { LRUCache } from 'lru-cache'
import { sendOrKeep } from '../connection/send-text.ts'
import { encodeFrame } from '../connection/session-socket.ts'
import type { OperationContext } from '../context.ts'
import { policy } from '../policy.ts'
import type { PresenceFeed } from '../presence/presence-feed.ts'
import { findCurrentState, isAuthenticated, refuseAdmin } from '../sessions/session-registry.ts'
import type { AuthenticatedSocket, CallerDeps, SessionRegistry } from '../sessions/session-registry.ts'
import { messagePrefixOf, type LiveUpstream } from './upstream-set.ts'

type MembersDeps = Pick<OperationContext, 'orm'> & { questions: Pick<UpstreamQuestions, 'ask'> }

type DeliveryDeps = CallerDeps &
  MembersDeps &
  Pick<OperationContext, 'log' | 'sessionMetrics'> & {
    sessions: Pick<SessionRegistry, 'find' | 'findSession'>
    feed: Pick<PresenceFeed, 'recordAgain'>
    occasionalLog: Pick<OccasionalLog, 'warn'>
  }

type Outcome = 'delivered' | 'foreign_type' | 'invalid' | 'lost' | 'members_unknown'
type Delivery = Pick<UpstreamDelivery, 'to' | 'access'> & { frame: Buffer; except: ReadonlySet<string> }

/** Messages to one space keep their order, those to users and sessions do, and those for admins. */
// eslint-disable-next-line max-lines-per-function -- one thing: its functions share its state
export function createDeliveries(deps: DeliveryDeps) {
  const { log, occasionalLog, sessionMetrics, sessions } = deps
  const findMembers = createSpaceMembers(deps)
  let received: { upstream: LiveUpstream; bytes: Uint8Array }[] = []
  /** In frames that wait for the database. */
  let waitingBytes = 0

  const socketsOf = (userIds: readonly string[]) =>
    [...new Set(userIds)].flatMap((userId) => [...(sessions.find(userId)?.sockets ?? [])])
  const sessionSockets = (sessionIds: readonly string[]) =>
    [...new Set(sessionIds)].flatMap((sessionId) => sessions.findSession(sessionId) ?? [])

  function send(socket: AuthenticatedSocket, { frame, except }: Delivery): void {
    if (!except.has(socket.session.id)) sendOrKeep(deps, socket, frame)
  }

  const count = ({ name: upstream }: LiveUpstream, outcome: Outcome) =>
    sessionMetrics.upstreamMessages.inc({ upstream, outcome })

  function drop(upstream: LiveUpstream, outcome: Outcome, err?: unknown): void {
    const { name } = upstream
    count(upstream, outcome)
    const fields = { upstream: name, outcome, ...(err !== undefined && { err }) }
    occasionalLog.warn(`${outcome} ${name}`, fields, 'message of an upstream dropped')
  }

  function deliver(upstream: LiveUpstream, bytes: Uint8Array): void {
    if (upstream.isRemoved) return
    const parsed = parseDelivery(bytes)
    if (!parsed) return drop(upstream, 'invalid')
    if ('audienceChanged' in parsed) return void announce(upstream, parsed.audienceChanged)
    const { to, access, except, message } = parsed
    if (!upstream.definition.messages.includes(messagePrefixOf(message.type))) return drop(upstream, 'foreign_type')
    const frame = encodeFrame(message)
    const delivery: Delivery = { to, ...(access && { access }), frame, except: new Set(except?.sessions) }
    if ('space' in to || access) return void deliverLater(upstream, delivery)
    for (const socket of 'users' in to ? socketsOf(to.users) : sessionSockets(to.sessions)) send(socket, delivery)
    count(upstream, 'delivered')
  }

  async function announce(upstream: LiveUpstream, userIds: readonly string[]): Promise<void> {
    if (!upstream.definition.answers.includes('audience')) return drop(upstream, 'invalid')
    try {
      await deps.feed.recordAgain(userIds)
      count(upstream, 'delivered')
    } catch (err) {
      drop(upstream, 'lost', err)
    }
  }

  async function deliverLater(upstream: LiveUpstream, delivery: Delivery): Promise<void> {
    const { to, access, frame } = delivery
    if (waitingBytes + frame.length > policy.upstreamWaitingBytes) return drop(upstream, 'lost')
    waitingBytes += frame.length
    try {
      const users = 'space' in to ? await findMembers(upstream, to.space) : 'users' in to ? to.users : []
      if (users === undefined) return drop(upstream, 'members_unknown')
      const sockets = 'sessions' in to ? sessionSockets(to.sessions) : socketsOf(users)
      for (const socket of access ? await findAdmins(sockets) : sockets) send(socket, delivery)
      count(upstream, 'delivered')
    } catch (err) {
      drop(upstream, 'lost', err)
    } finally {
      waitingBytes -= frame.length
    }
  }

  /** Of those that are open still. Design: invariant 1. */
  async function findAdmins(sockets: readonly AuthenticatedSocket[]): Promise<AuthenticatedSocket[]> {
    const states = await Promise.all(sockets.map((socket) => findCurrentState(deps, socket)))
    return sockets.filter((socket, index) => {
      const state = states[index]
      return state !== undefined && !refuseAdmin(state) && isAuthenticated(socket)
    })
  }

  function deliverReceived(): void {
    const due = received
    received = []
    for (const { upstream, bytes } of due) {
      try {
        deliver(upstream, bytes)
      } catch (err) {
        log.error({ err, upstream: upstream.name }, 'message of an upstream not delivered')
      }
    }
  }

  return {
    /** Replies are read first, so a message never precedes the upstream's part of `ready`. */
    receive(upstream: LiveUpstream, bytes: Uint8Array): void {
      if (received.length === 0) setImmediate(deliverReceived)
      received.push({ upstream, bytes })
    },
  }
}

function parseDelivery(bytes: Uint8Array) {
  if (bytes.length > upstreamLimits.deliveryBytes) return undefined
  try {
    const value = readJson(bytes)
    return upstreamDelivery.safeParse(value).data ?? upstreamAnnouncement.safeParse(value).data
  } catch {
    return undefined
  }
}

type Members = readonly string[]

/** Keeps nothing of the table. */
function createSpaceMembers({ orm, questions }: MembersDeps) {
  const answers = new LRUCache<string, { ids: Members }>({
    ttl: policy.upstreamMembersMs,
    maxSize: policy.rememberedMembers,
    sizeCalculation: ({ ids }) => ids.length + 1,
  })
  const ask = shareWork(async (key, { name }: LiveUpstream, spaceId: string): Promise<Members | undefined> => {
    const ids = (await questions.ask(name, 'members', { space: spaceId }))?.members
    if (ids) answers.set(key, { ids })
    return ids
  })

  // One statement at a time uses at most one database connection.
  const readMembers = coalesce<Members>(async (spaceIds) => {
    const sql = `select space_id::text as id, string_agg(user_id::text, ',') as members
      from space_members where space_id = any(?::bigint[]) group by space_id`
    const rows: { id: string; members: string }[] = []
    for (let first = 0; first < spaceIds.length; first += policy.spacesPerStatement) {
      const ids = bigintArray(spaceIds.slice(first, first + policy.spacesPerStatement))
      rows.push(...(await read<(typeof rows)[number]>(orm.em.fork(), sql, [ids])))
    }
    return rows.map(({ id, members }) => [id, members.split(',')] as const)
  })

  /** Undefined: its upstream does not answer. Rejects when the database cannot be read. docs/integrate/ask-and-answer.md, `members`. */
  return async (upstream: LiveUpstream, spaceId: string): Promise<Members | undefined> => {
    const own = snowflake.safeParse(spaceId).success ? ((await readMembers(spaceId)) ?? []) : []
    if (own.length > 0 || !upstream.definition.answers.includes('members')) return own
    const key = `${upstream.name} ${spaceId}`
    return answers.get(key)?.ids ?? (await ask(key, upstream, spaceId))
  }
}
