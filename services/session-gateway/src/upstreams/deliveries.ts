import { upstreamDelivery, upstreamLimits, type UpstreamDelivery } from '@gatehouse/contracts'
import { keepForReady, sendFrames } from '../connection/send-text.ts'
import { encodeMessage, textFrameHeader } from '../connection/text-frame.ts'
import type { OperationContext } from '../context.ts'
import { policy } from '../policy.ts'
import type { AuthenticatedSocket, SessionRegistry } from '../sessions/session-registry.ts'
import type { LiveUpstream } from './live-upstream.ts'
import type { OccasionalLog } from './occasional-log.ts'
import { readJson } from './read-json.ts'
import type { SpaceMembers } from './space-members.ts'

type DeliveryDeps = Pick<OperationContext, 'log' | 'sessionMetrics'> & {
  sessions: Pick<SessionRegistry, 'find' | 'findSession'>
  occasionalLog: Pick<OccasionalLog, 'warn'>
  spaceMembers: Pick<SpaceMembers, 'list'>
}

type Outcome = 'delivered' | 'foreign_type' | 'invalid' | 'lost'

type Delivery = Pick<UpstreamDelivery, 'to'> & { frame: Buffer; except: ReadonlySet<string> }

/** Messages to one space keep their order, and so do those to users and sessions. */
export class Deliveries {
  readonly #deps: DeliveryDeps
  #received: { upstream: LiveUpstream; bytes: Uint8Array }[] = []
  /** In frames that wait for members of a space. */
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
    const { to, except, message } = parsed
    if (!upstream.owns(message.type)) return this.#drop(upstream, 'foreign_type')
    const payload = encodeMessage(message)
    const frame = Buffer.concat([textFrameHeader(payload.length), payload])
    const delivery: Delivery = { to, frame, except: new Set(except?.sessions) }
    if ('space' in to) return void this.#deliverToSpace(upstream, to.space, delivery)
    this.#count(upstream, 'delivered')
    if ('users' in to) return this.#sendToUsers(to.users, delivery)
    for (const sessionId of new Set(to.sessions)) {
      const socket = this.#deps.sessions.findSession(sessionId)
      if (socket) this.#send(socket, delivery)
    }
  }

  async #deliverToSpace(upstream: LiveUpstream, spaceId: string, delivery: Delivery): Promise<void> {
    const { length } = delivery.frame
    if (this.#waitingBytes + length > policy.upstreamWaitingBytes) return this.#drop(upstream, 'lost')
    this.#waitingBytes += length
    try {
      this.#sendToUsers(await this.#deps.spaceMembers.list(spaceId), delivery)
      this.#count(upstream, 'delivered')
    } catch (err) {
      this.#drop(upstream, 'lost', err)
    } finally {
      this.#waitingBytes -= length
    }
  }

  #sendToUsers(userIds: readonly string[], delivery: Delivery): void {
    for (const userId of new Set(userIds)) {
      for (const socket of this.#deps.sessions.find(userId)?.sockets ?? []) this.#send(socket, delivery)
    }
  }

  #send(socket: AuthenticatedSocket, { frame, except }: Delivery): void {
    if (except.has(socket.session.id)) return
    if (socket.phase === 'ready') sendFrames(this.#deps, socket, frame)
    else keepForReady(this.#deps, socket, frame)
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
