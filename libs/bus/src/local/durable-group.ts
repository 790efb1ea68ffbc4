import { backoffMs } from '@gatehouse/runtime'
import type { BusLog } from '../bus.ts'
import type { EventMessage, MessageHandler } from '../event-message.ts'
import { redeliveryBackoff } from '../policy.ts'

type Member = { handle: MessageHandler; work: Promise<void> | undefined }

export type DurableGroup = {
  accept(message: EventMessage): void
  /** Gives what makes the member leave. */
  join(handle: MessageHandler): () => Promise<void>
  /** Delivers every accepted message once more. Gives how many no member took. */
  finish(): Promise<number>
}

/** It keeps messages without a member, and redelivers failed ones. */
export function createDurableGroup(about: { event: string; group: string }, log: BusLog): DurableGroup {
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
    queue.push(message)
    dispatch()
  }

  const underWay = () => [...members].flatMap((member) => member.work ?? [])

  return {
    accept(message) {
      queue.push(message)
      dispatch()
    },
    join(handle) {
      const member: Member = { handle, work: undefined }
      members.add(member)
      dispatch()
      return async () => {
        members.delete(member)
        await member.work
      }
    },
    async finish() {
      finishing = true
      for (const [timer, message] of [...retries]) redeliver(timer, message)
      dispatch()
      for (let busy = underWay(); busy.length > 0; busy = underWay()) await Promise.all(busy)
      return queue.length
    },
  }
}
