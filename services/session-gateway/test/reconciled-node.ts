import { systemClock, systemRandom } from '@gatehouse/runtime'
import { createMetrics } from '@gatehouse/service-kit'
import { capturedLog } from '@gatehouse/test-kit'
import { manualTimer } from '@gatehouse/test-kit/time'
import { releaseSocket } from '../src/connection/close-sockets.ts'
import type { SessionSocket } from '../src/connection/session-socket.ts'
import { createSocketTimeouts } from '../src/connection/socket-timeouts.ts'
import { createSessionMetrics } from '../src/context.ts'
import { timings } from '../src/policy.ts'
import type { PresenceChange } from '../src/presence/presence-store.ts'
import { createPresenceReconciler, type PresenceReconciler } from '../src/presence/presence-reconciler.ts'
import { endSessions, sessionEndings } from '../src/sessions/end-sessions.ts'
import { createSessionRegistry, type AuthenticatedSocket } from '../src/sessions/session-registry.ts'
import { FakePresenceStore } from './fake-presence-store.ts'

/** What a client saw of its handshake. */
export type Handshake = { socket: SessionSocket; outcome: 'pending' | 'ready' | 'refused' | 'unavailable' }

/** A node whose reconciler runs on a record in memory, with a timer that a test moves. Timings are the default ones. */
export class ReconciledNode {
  readonly timer = manualTimer()
  readonly store = new FakePresenceStore()
  readonly sessions = createSessionRegistry()
  /** What the other nodes are told to read. */
  readonly hinted: PresenceChange[] = []
  readonly handshakes: Handshake[] = []
  readonly presence: PresenceReconciler
  readonly lines: Record<string, unknown>[]
  /** The process as a node of the record. */
  readonly node = {
    id: 'node-1',
    heartbeat: async () => {
      if (this.store.rows.has(this.node.id)) return
      this.node.id = `node-${Number(this.node.id.slice(5)) + 1}`
      this.store.rows.set(this.node.id, new Set())
    },
  }

  readonly #deps

  constructor() {
    this.store.rows.set(this.node.id, new Set())
    const { log, lines } = capturedLog()
    this.lines = lines
    const { timer, sessions, store, node } = this
    const feed = { recorded: (changes: readonly PresenceChange[]) => void this.hinted.push(...changes) }
    const context = { log, timer, timings, clock: systemClock, random: systemRandom }
    const remotePresences = { onlineIds: () => [] }
    const of = { sessions, presenceStore: store, feed, node, remotePresences }
    this.presence = createPresenceReconciler({ ...context, ...of })
    const counts = { authenticated: () => 0, unauthenticated: () => 0 }
    const sessionMetrics = createSessionMetrics(createMetrics(), counts)
    const onReleased = (socket: SessionSocket) => {
      const user = sessions.remove(socket)
      if (user) this.presence.userDisconnected(user)
    }
    const timeouts = createSocketTimeouts({ ...context, sessionMetrics, onReleased })
    this.#deps = { presence: this.presence, timeouts, onReleased, sessionMetrics }
  }

  /** A handshake as `authenticate` does it, with a token issued at `iat`. */
  connect(userId: string, iat = 1): Handshake {
    const socket = { phase: 'authenticating', resume() {}, send() {}, close() {} } as unknown as SessionSocket
    const handshake: Handshake = { socket, outcome: 'pending' }
    this.handshakes.push(handshake)
    void this.#admit(handshake, this.sessions.add(socket, userId, { iat, exp: Infinity }))
    return handshake
  }

  /** The client leaves. */
  disconnect({ socket }: Handshake): void {
    if (socket.phase !== 'closing') releaseSocket(this.#deps, socket)
  }

  /** An admin reset or a deletion that was committed at the second `at`. */
  forceOut(userId: string, ending: keyof typeof sessionEndings, at: number): void {
    const user = this.sessions.find(userId)
    const second = ending === 'UserDeleted' ? Infinity : at
    if (user) endSessions(this.#deps, user, { ...sessionEndings[ending], second })
  }

  /** Lets `ms` pass in small steps, and everything happen that follows from each. */
  async advance(ms: number): Promise<void> {
    for (let left = ms, step = 5; left > 0; left -= step, step = 500) {
      this.timer.advance(Math.min(step, left))
      await this.settle()
    }
  }

  /** Lets everything happen that needs no time. */
  async settle(): Promise<void> {
    for (let turn = 0; turn < 3; turn += 1) await new Promise<void>((resolve) => void setImmediate(resolve))
  }

  /** Lets transactions be committed from now on, and the one that waits. */
  async commit(): Promise<void> {
    this.store.release()
    await this.settle()
  }

  async heartbeat(): Promise<void> {
    await this.node.heartbeat()
    this.presence.resync()
  }

  /** As another node reads it. */
  isOnline(userId: string): boolean {
    return this.store.statusOf(userId) === 'online'
  }

  /** All changes that another node reads, in order. */
  get seenElsewhere(): PresenceChange['status'][] {
    return this.store.changes.map(({ status }) => status)
  }

  async #admit(handshake: Handshake, socket: AuthenticatedSocket): Promise<void> {
    const { user, iat } = socket.session
    const end = (outcome: Handshake['outcome']) => {
      handshake.outcome = outcome
      if (outcome === 'ready') socket.phase = 'ready'
      else this.disconnect(handshake)
    }
    try {
      const connected = await this.presence.userConnected(user)
      const account = this.store.accounts.get(user.id)
      if (handshake.socket.phase !== 'authenticating') return void (handshake.outcome = 'refused')
      if (!connected || !account) return end('refused')
      const { isDeleted, passwordChangedAt } = connected.snapshot.user
      if (isDeleted || iat * 1000 < (passwordChangedAt ?? 0)) return end('refused')
      end('ready')
      this.presence.markOnline(user)
    } catch {
      if (handshake.socket.phase === 'authenticating') end('unavailable')
      else handshake.outcome = 'refused'
    }
  }
}
