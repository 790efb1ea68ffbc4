import { upstreamDelivery, upstreamLimits, type AccountState, type UpstreamDelivery } from '@gatehouse/contracts'
import { readJson, type OccasionalLog } from '@gatehouse/service-kit'
import { sendOrKeep } from '../connection/send-text.ts'
import { encodeFrame } from '../connection/session-socket.ts'
import type { OperationContext } from '../context.ts'
import { policy } from '../policy.ts'
import {
  findCurrentState,
  isAuthenticated,
  refuseAdmin,
  type AuthenticatedSocket,
  type CallerDeps,
  type SessionRegistry,
} from '../sessions/session-registry.ts'
import type { SpaceMembers } from './space-members.ts'
import type { LiveUpstream } from './upstream-set.ts'

type DeliveryDeps = CallerDeps &
  Pick<OperationContext, 'log' | 'sessionMetrics'> & {
    sessions: Pick<SessionRegistry, 'find' | 'findSession'>
    occasionalLog: Pick<OccasionalLog, 'warn'>
    spaceMembers: Pick<SpaceMembers, 'find'>
  }

type Outcome = 'delivered' | 'foreign_type' | 'invalid' | 'lost' | 'members_unknown'

type Delivery = Pick<UpstreamDelivery, 'to' | 'access'> & { frame: Buffer; except: ReadonlySet<string> }

/** Messages to one space keep their order, those to users and sessions do, and those for admins. */
export class Deliveries {
  readonly #deps: DeliveryDeps
  #received: { upstream: LiveUpstream; bytes: Uint8Array }[] = []
  /** In frames that wait for the database. */
  #waitingBytes = 0

  constructor(deps: DeliveryDeps) {
    this.#deps = deps
  }

  /** Replies are read first, so a message never precedes the upstream's part of `ready`. */
  receive(upstream: LiveUpstream, bytes: Uint8Array): void {
    if (this.#received.length === 0) setImmediate(() => this.#deliverReceived())
    this.#received.push({ upstream, bytes })
  }

  #deliverReceived(): void {
    const received = this.#received
    this.#received = []
    for (const { upstream, bytes } of received) {
      try {
        this.#deliver(upstream, bytes)
      } catch (err) {
        this.#deps.log.error({ err, upstream: upstream.name }, 'message of an upstream not delivered')
      }
    }
  }

  #deliver(upstream: LiveUpstream, bytes: Uint8Array): void {
    if (upstream.isRemoved) return
    const parsed = parseDelivery(bytes)
    if (!parsed) return this.#drop(upstream, 'invalid')
    const { to, access, except, message } = parsed
    if (!upstream.owns(message.type)) return this.#drop(upstream, 'foreign_type')
    const frame = encodeFrame(message)
    const delivery: Delivery = { to, ...(access && { access }), frame, except: new Set(except?.sessions) }
    if ('space' in to || access) return void this.#deliverLater(upstream, delivery)
    for (const socket of 'users' in to ? this.#socketsOf(to.users) : this.#named(to.sessions)) {
      this.#send(socket, delivery)
    }
    this.#count(upstream, 'delivered')
  }

  async #deliverLater(upstream: LiveUpstream, delivery: Delivery): Promise<void> {
    const { to, access, frame } = delivery
    const { length } = frame
    if (this.#waitingBytes + length > policy.upstreamWaitingBytes) return this.#drop(upstream, 'lost')
    this.#waitingBytes += length
    try {
      const users =
        'space' in to ? await this.#deps.spaceMembers.find(upstream, to.space) : 'users' in to ? to.users : []
      if (users === undefined) return this.#drop(upstream, 'members_unknown')
      const sockets = 'sessions' in to ? this.#named(to.sessions) : this.#socketsOf(users)
      for (const socket of access ? await this.#findAdmins(sockets) : sockets) this.#send(socket, delivery)
      this.#count(upstream, 'delivered')
    } catch (err) {
      this.#drop(upstream, 'lost', err)
    } finally {
      this.#waitingBytes -= length
    }
  }

  #socketsOf(userIds: readonly string[]): AuthenticatedSocket[] {
    return [...new Set(userIds)].flatMap((userId) => [...(this.#deps.sessions.find(userId)?.sockets ?? [])])
  }

  #named(sessionIds: readonly string[]): AuthenticatedSocket[] {
    return [...new Set(sessionIds)].flatMap((sessionId) => this.#deps.sessions.findSession(sessionId) ?? [])
  }

  /** Of those that are open still. Design: invariant 1. */
  async #findAdmins(sockets: readonly AuthenticatedSocket[]): Promise<AuthenticatedSocket[]> {
    const states = await Promise.all(sockets.map((socket) => findCurrentState(this.#deps, socket)))
    const isAdmin = (state: AccountState | undefined) => state !== undefined && !refuseAdmin(state)
    return sockets.filter((socket, index) => isAdmin(states[index]) && isAuthenticated(socket))
  }

  #send(socket: AuthenticatedSocket, { frame, except }: Delivery): void {
    if (!except.has(socket.session.id)) sendOrKeep(this.#deps, socket, frame)
  }

  #drop(upstream: LiveUpstream, outcome: Exclude<Outcome, 'delivered'>, err?: unknown): void {
    const { name } = upstream
    this.#count(upstream, outcome)
    const fields = { upstream: name, outcome, ...(err !== undefined && { err }) }
    this.#deps.occasionalLog.warn(`${outcome} ${name}`, fields, 'message of an upstream dropped')
  }

  #count({ name: upstream }: LiveUpstream, outcome: Outcome): void {
    this.#deps.sessionMetrics.upstreamMessages.inc({ upstream, outcome })
  }
}

function parseDelivery(bytes: Uint8Array): UpstreamDelivery | undefined {
  if (bytes.length > upstreamLimits.deliveryBytes) return undefined
  try {
    return upstreamDelivery.safeParse(readJson(bytes)).data
  } catch {
    return undefined
  }
}
