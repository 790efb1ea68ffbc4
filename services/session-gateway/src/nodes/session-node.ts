import { DatabaseUnavailable, changeRows, read } from '@gatehouse/database'
import { withTimeout, type Timer } from '@gatehouse/runtime'
import type { OperationContext } from '../context.ts'

/** No heartbeat renews it. The row stays until its users are evicted. */
export const deadMark = "'-infinity'::timestamptz"

const heartbeatsInSilence = 4

export type SessionNode = Awaited<ReturnType<typeof registerNode>>

/** Users recorded under its id count as online while its heartbeats are fresh. */
export async function registerNode(deps: Pick<OperationContext, 'orm' | 'random' | 'timer' | 'timings'>) {
  const { orm, random, timer, timings } = deps
  let registeredId = ''
  let renewedAt = 0
  let beating: Promise<void> | undefined

  /** The next heartbeat uses another connection than a silent one. */
  async function change(sql: string, id: string): Promise<number> {
    const late = () => new DatabaseUnavailable('no answer to the heartbeat in time')
    return await withTimeout(changeRows(orm.em.fork(), sql, [id]), timings.nodeSilenceMs / heartbeatsInSilence, late)
  }

  async function register(): Promise<void> {
    const id = random.uuid()
    const startedAt = timer.now()
    await change('insert into session_nodes (id) values (?)', id)
    registeredId = id
    renewedAt = startedAt
  }

  async function beat(): Promise<void> {
    const startedAt = timer.now()
    const renewal = `update session_nodes set seen_at = now() where id = ? and seen_at > ${deadMark}`
    try {
      if ((await change(renewal, registeredId)) === 0) await register()
      else renewedAt = startedAt
    } catch (error) {
      // Nobody can write there that this node is dead. Contract: 8, Readiness.
      if (error instanceof DatabaseUnavailable && error.fault === 'readOnly') renewedAt = startedAt
      throw error
    }
  }

  await register()
  return {
    get id() {
      return registeredId
    },
    /** False when another node may count it as dead. */
    isFresh: () => timer.now() - renewedAt < timings.nodeSilenceMs,
    /** Registers again when the row was marked dead. */
    async heartbeat(): Promise<void> {
      beating ??= beat().finally(() => (beating = undefined))
      await beating
    },
  }
}

type ListingDeps = Pick<OperationContext, 'orm' | 'timings'> & { node: { readonly id: string } }

/** Leaves dead nodes out. */
export async function listOtherNodes({ orm, node, timings }: ListingDeps): Promise<string[]> {
  const sql = `select id::text from session_nodes where id <> ? and seen_at > now() - ? * interval '1 millisecond'`
  const rows = await read<{ id: string }>(orm.em.fork(), sql, [node.id, timings.nodeSilenceMs])
  return rows.map(({ id }) => id)
}

/** While the database was away, silence of other nodes says nothing. */
export function createHeartbeatHistory(timer: Timer, silenceMs: number) {
  let interruptedAt = timer.now()
  return {
    /** A slow heartbeat counts as an interruption. */
    async observe(heartbeat: () => Promise<void>): Promise<void> {
      const startedAt = timer.now()
      try {
        await heartbeat()
      } catch (error) {
        interruptedAt = timer.now()
        throw error
      }
      if (timer.now() - startedAt > silenceMs) interruptedAt = timer.now()
    },
    isComplete: () => timer.now() - interruptedAt >= silenceMs,
  }
}
