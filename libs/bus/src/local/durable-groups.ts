import type { BusLog } from '../bus.ts'
import { retryDelayMs } from '../retry-delay.ts'

/** An event on its way: its JSON, so that no receiver shares an object with the sender. */
export type Sent = { id: string; json: string; requestId: string | undefined }

type Queued = Sent & { deliveries: number }
export type GroupMember = { receive(sent: Queued): Promise<void>; work: Promise<void> | undefined }

export type DurableGroup = {
  accept(sent: Sent): void
  join(receive: GroupMember['receive']): { leave(): Promise<void> }
  /** Resolves when everything accepted has been handed to a member once more; gives how many events nobody took. */
  finish(): Promise<number>
}

/** The queue of one group of subscribers: it keeps its events while nobody is there, and tries again those that failed. */
export function createDurableGroup(about: { event: string; group: string }, log: BusLog): DurableGroup {
  const queue: Queued[] = []
  const members = new Set<GroupMember>()
  const retries = new Map<NodeJS.Timeout, Queued>()
  let finishing = false

  function pump() {
    for (const member of members) {
      if (member.work) continue
      const next = queue.shift()
      if (!next) return
      member.work = deliver(member, next).finally(() => {
        member.work = undefined
        pump()
      })
    }
  }

  async function deliver(member: GroupMember, sent: Queued) {
    try {
      await member.receive(sent)
    } catch (error) {
      const retryInMs = retryDelayMs(sent.deliveries)
      const facts = { err: error, ...about, id: sent.id, requestId: sent.requestId }
      if (finishing) return log.error(facts, 'an event was not handled before the bus closed')
      log.error({ ...facts, retryInMs }, 'an event was not handled and will be delivered again')
      const timer = setTimeout(() => retry(timer), retryInMs)
      retries.set(timer, { ...sent, deliveries: sent.deliveries + 1 })
    }
  }

  function retry(timer: NodeJS.Timeout) {
    clearTimeout(timer)
    queue.push(retries.get(timer)!)
    retries.delete(timer)
    pump()
  }

  function underWay(): Promise<void>[] {
    return [...members].flatMap((member) => member.work ?? [])
  }

  return {
    accept(sent) {
      queue.push({ ...sent, deliveries: 1 })
      pump()
    },
    join(receive) {
      const member: GroupMember = { receive, work: undefined }
      members.add(member)
      pump()
      return {
        async leave() {
          members.delete(member)
          await member.work
        },
      }
    },
    async finish() {
      finishing = true
      for (const timer of [...retries.keys()]) retry(timer)
      pump()
      for (let busy = underWay(); busy.length > 0; busy = underWay()) await Promise.all(busy)
      return queue.length
    },
  }
}
