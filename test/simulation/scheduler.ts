import { hash } from 'node:crypto'
import type { Timer } from '@gatehouse/runtime'

/** A process of the simulated instance. What it does follows from `history`: what it got, and when. */
export type Process = { name: string; region: string; isAlive: boolean; history: string }

/**
 * What changes nothing but the process that gets it need not be one choice of several: whatever else is possible may as well come
 * later. `undisturbed`: unless time or a fault comes between.
 */
type Locality = 'always' | 'undisturbed' | false

/** `to`: undefined for a server whose state the digest has. */
type Message = { label: string; at: number; to: Process | undefined; isLocal?: Locality; deliver(): void }

/** Messages of one connection arrive in order. */
export type Channel = Message[]

export type Action = {
  label: string
  at: number
  kind: 'message' | 'request' | 'time' | 'fault'
  isLocal?: Locality
  run(): void
}

export type Scheduler = {
  now(): number
  /** Of `owner`. A process that crashed has none. */
  timerOf(owner: Process, stretch?: (ms: number) => number): Timer
  send(channel: Channel, message: Omit<Message, 'at'> & { latencyMs: number }): void
  /** Those that can happen next. `deadlines` are times at which something ends without being told. */
  actions(deadlines: readonly number[]): Action[]
  /** Equal digests, equal futures. */
  digest(): string
}

const digestOf = (text: string): string => hash('sha1', text, 'base64')

/** Redis takes the time for one since 1970. */
export const startedAt = 1_000_000_000

/** Holds whatever happens until the explorer picks it. Time passes when it is picked. */
export function createScheduler(): Scheduler {
  const channels = new Set<Channel>()
  const timers = new Map<object, { at: number; owner: Process; run: () => void }>()
  const processes = new Set<Process>()
  let now = startedAt

  function receive(to: Process | undefined, label: string, run: () => void): void {
    if (to) {
      if (!to.isAlive) return
      processes.add(to)
      to.history = digestOf(`${to.history} ${now} ${label}`)
    }
    run()
  }

  function deliverFrom(channel: Channel, message: Message): void {
    channel.shift()
    if (channel.length === 0) channels.delete(channel)
    now = Math.max(now, message.at)
    receive(message.to, message.label, () => message.deliver())
  }

  function passUntil(until: number): void {
    now = Math.max(now, until)
    const due = [...timers].filter(([, { at }]) => at <= now).sort(([, one], [, other]) => one.at - other.at)
    for (const [key, { owner, run }] of due) {
      // One that ran may have cleared another.
      if (timers.delete(key)) receive(owner, 'timer', run)
    }
  }

  return {
    now: () => now,
    timerOf: (owner, stretch = (ms) => ms) => ({
      now: () => now,
      set(run, ms) {
        const key = {}
        timers.set(key, { at: now + stretch(ms), owner, run })
        return key
      },
      clear: (pending) => void timers.delete(pending as object),
    }),
    send(channel, { latencyMs, ...message }) {
      // A later message does not overtake an earlier one.
      channel.push({ ...message, at: Math.max(now + latencyMs, channel.at(-1)?.at ?? 0) })
      channels.add(channel)
    },
    actions(deadlines) {
      for (const channel of channels) if (channel.length === 0) channels.delete(channel)
      const heads = [...channels].map((channel) => ({ channel, message: channel[0]! }))
      const messages = heads.map(({ channel, message }): Action => {
        const { label, at, isLocal = false } = message
        return { label, at, kind: 'message', isLocal, run: () => deliverFrom(channel, message) }
      })
      for (const [key, { owner }] of timers) if (!owner.isAlive) timers.delete(key)
      const next = Math.min(...[...timers.values()].map(({ at }) => at), ...deadlines.filter((at) => at > now))
      if (next === Infinity) return messages
      return [
        ...messages,
        { label: `time passes: ${next - startedAt} ms`, at: next, kind: 'time', run: () => passUntil(next) },
      ]
    },
    digest: () => {
      const histories = [...processes].map(({ name, isAlive, history }) => `${name} ${isAlive} ${history}`)
      const inFlight = [...channels].map((channel) => channel.map(({ label }) => label).join('>'))
      const delays = [...timers.values()].map(({ at, owner }) => `${owner.name} ${at}`)
      return digestOf(JSON.stringify([now, histories.sort(), inFlight.sort(), delays.sort()]))
    },
  }
}
