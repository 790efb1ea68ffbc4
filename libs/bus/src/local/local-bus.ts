import { AsyncLocalStorage } from 'node:async_hooks'
import { LRUCache } from 'lru-cache'
import { backoffMs, entryLimit, withTimeout } from '@gatehouse/runtime'
import { BusUnavailable, type Bus, type BusLog, type Context } from '../bus.ts'
import { createSequence, messageHandlers, readReply, writeReply } from '../messages.ts'
import type { EventMessage, MessageHandler } from '../messages.ts'
import { rememberedIds, redeliveryBackoff } from '../policy.ts'

type Subscriber = (message: EventMessage) => void
type Responder = { reply(json: string, context: Context): Promise<string>; underWay: Set<Promise<unknown>> }

/** Payloads are JSON, as over NATS. Disposal delivers accepted messages and waits for handlers. */
// eslint-disable-next-line max-lines-per-function -- the operations of one bus
export function createLocalBus({ log }: { log: BusLog }): Bus {
  const groups = new Map<string, Map<string, DurableGroup>>()
  const subscribers = new Map<string, Set<Subscriber>>()
  const sequences = new Set<ReturnType<typeof createSequence>>()
  /** Several of one call take turns. */
  const responders = new Map<string, Responder[]>()
  const published = new LRUCache<string, true>(entryLimit(rememberedIds))
  // A handler must not inherit the sender's context, such as a transaction.
  const outside = AsyncLocalStorage.snapshot()
  let open = true
  /** The handlers of accepted messages may still ask. */
  let answering = true

  function groupOf(event: string, group: string): DurableGroup {
    const ofEvent = groups.get(event) ?? new Map<string, DurableGroup>()
    const durableGroup = ofEvent.get(group) ?? createDurableGroup({ event, group }, log)
    groups.set(event, ofEvent.set(group, durableGroup))
    return durableGroup
  }

  return {
    async publish(event, payload, { id = '', to, requestId, traceparent } = {}) {
      const json = JSON.stringify(event.payload.parse(payload))
      const message = { id, json, requestId, ...(traceparent && { traceparent }), deliveries: 1 }
      if (!open && event.stream) throw new BusUnavailable('disconnected')
      if (!open || published.has(id)) return
      if (id) published.set(id, true)
      for (const deliver of subscribers.get(subjectOf(event.subject, to)) ?? []) deliver(message)
      for (const group of groups.get(event.subject)?.values() ?? []) group.accept(message)
    },
    async subscribe(events, handler, { group, as } = {}) {
      const handlers = messageHandlers(events, (received) => outside(handler, received))
      const subscription = new AsyncDisposableStack()
      const sequence = createSequence(log)
      sequences.add(sequence)
      subscription.defer(async () => {
        await sequence.finished()
        sequences.delete(sequence)
      })
      for (const { event, handle } of handlers) {
        const { subject, stream } = event
        if (stream && group !== undefined) {
          subscription.defer(groupOf(subject, group).join(handle))
          continue
        }
        const deliver: Subscriber = (message) => sequence.add(subject, message, handle)
        const name = subjectOf(subject, stream ? undefined : as)
        const ofName = subscribers.get(name) ?? new Set()
        subscribers.set(name, ofName.add(deliver))
        subscription.defer(() => void ofName.delete(deliver))
      }
      return subscription
    },
    async request(call, payload, { timeoutMs, ...context }) {
      const json = JSON.stringify(call.request.parse(payload))
      if (!answering) throw new BusUnavailable('disconnected')
      const ofCall = responders.get(call.subject) ?? []
      const next = ofCall.shift()
      if (!next) throw new BusUnavailable('no-responders')
      ofCall.push(next)
      const reply = next.reply(json, context)
      next.underWay.add(reply)
      const replied = reply.finally(() => next.underWay.delete(reply))
      return readReply(call, await withTimeout(replied, timeoutMs, () => new BusUnavailable('timeout')))
    },
    async respond(call, handler) {
      const answer: typeof handler = (payload, context) => outside(handler, payload, context)
      const responder: Responder = {
        reply: (json, context) => writeReply(log, call, answer, { json, context }),
        underWay: new Set(),
      }
      const ofCall = responders.get(call.subject) ?? []
      responders.set(call.subject, ofCall)
      ofCall.push(responder)
      return {
        async [Symbol.asyncDispose]() {
          const index = ofCall.indexOf(responder)
          if (index >= 0) ofCall.splice(index, 1)
          await Promise.all(responder.underWay)
        },
      }
    },
    ready: () => open,
    listStreamFaults: async () => [],
    async [Symbol.asyncDispose]() {
      if (!open) return
      open = false
      const all = [...groups.values()].flatMap((ofEvent) => [...ofEvent.values()])
      const left = await Promise.all(all.map((group) => group.finish()))
      answering = false
      const replies = [...responders.values()].flat().flatMap(({ underWay }) => [...underWay])
      await Promise.all([...[...sequences].map((sequence) => sequence.finished()), ...replies])
      const undelivered = left.reduce((sum, count) => sum + count, 0)
      if (undelivered > 0) log.warn({ undelivered }, 'bus closed with undelivered events')
    },
  }
}

const subjectOf = (subject: string, name: string | undefined) =>
  name === undefined ? subject : `${subject} to ${name}`

type Member = { handle: MessageHandler; work: Promise<void> | undefined }

type DurableGroup = ReturnType<typeof createDurableGroup>

/** It keeps messages without a member, and redelivers failed ones. */
function createDurableGroup(about: { event: string; group: string }, log: BusLog) {
  const queue: EventMessage[] = []
  const members = new Set<Member>()
  const retries = new Map<NodeJS.Timeout, EventMessage>()
  let finishing = false

  function dispatch() {
    for (const member of members) {
      if (member.work) continue
      const next = queue.shift()
      if (!next) return
      member.work = deliver(member, next).finally(() => {
        member.work = undefined
        dispatch()
      })
    }
  }

  function accept(message: EventMessage): void {
    queue.push(message)
    dispatch()
  }

  async function deliver(member: Member, message: EventMessage) {
    try {
      await member.handle(message)
    } catch (err) {
      const retryInMs = backoffMs(message.deliveries - 1, redeliveryBackoff)
      const fields = { err, ...about, id: message.id, requestId: message.requestId }
      if (finishing) return log.error(fields, 'event handler failed while the bus closed')
      log.error({ ...fields, retryInMs }, 'event handler failed, redelivery scheduled')
      const again = { ...message, deliveries: message.deliveries + 1 }
      const timer: NodeJS.Timeout = setTimeout(() => redeliver(timer, again), retryInMs)
      retries.set(timer, again)
    }
  }

  function redeliver(timer: NodeJS.Timeout, message: EventMessage) {
    clearTimeout(timer)
    retries.delete(timer)
    accept(message)
  }

  const underWay = () => [...members].flatMap((member) => member.work ?? [])

  return {
    accept,
    join(handle: MessageHandler): () => Promise<void> {
      const member: Member = { handle, work: undefined }
      members.add(member)
      dispatch()
      return async () => {
        members.delete(member)
        await member.work
      }
    },
    /** Delivers every accepted message once more. Gives how many no member took. */
    async finish(): Promise<number> {
      finishing = true
      for (const [timer, message] of [...retries]) redeliver(timer, message)
      dispatch()
      for (let busy = underWay(); busy.length > 0; busy = underWay()) await Promise.all(busy)
      return queue.length
    },
  }
}
