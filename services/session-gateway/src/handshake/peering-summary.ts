import { read } from '@gatehouse/database'
import type { OperationContext } from '../context.ts'

/** Contract: 6, `ready`. */
export type PeeringSummary = Readonly<Record<(typeof listOf)[keyof typeof listOf], string[]>> & {
  readonly pendingApprovalCount: number
}

const listOf = {
  active: 'activePeerOrigins',
  rejected: 'rejectedPeerOrigins',
  awaiting_approval: 'awaitingApprovalPeerOrigins',
} as const

/** Handshakes of a short time share one read. */
export class PeeringReader {
  readonly #deps: Pick<OperationContext, 'orm' | 'timer' | 'timings'>
  #latest: { summary: Promise<PeeringSummary>; readAt: number } | undefined

  constructor(deps: Pick<OperationContext, 'orm' | 'timer' | 'timings'>) {
    this.#deps = deps
  }

  async read(): Promise<PeeringSummary> {
    const now = this.#deps.timer.now()
    if (!this.#latest || now - this.#latest.readAt >= this.#deps.timings.peeringSummaryMs) {
      const latest = { summary: readPeeringSummary(this.#deps), readAt: now }
      this.#latest = latest
      latest.summary.catch(() => {
        if (this.#latest === latest) this.#latest = undefined
      })
    }
    return await this.#latest.summary
  }
}

async function readPeeringSummary({ orm }: Pick<OperationContext, 'orm'>): Promise<PeeringSummary> {
  const rows = await read<{ origin: string | null; status: keyof typeof listOf; pending: number }>(
    orm.em.fork(),
    `select origin, status, pending
     from (select count(*)::int as pending from approval_requests where status = 'pending') as requests
     left join peers on status in ('active', 'rejected', 'awaiting_approval') order by peers.id`,
  )
  const summary = {
    activePeerOrigins: [] as string[],
    rejectedPeerOrigins: [] as string[],
    awaitingApprovalPeerOrigins: [] as string[],
    pendingApprovalCount: rows[0]?.pending ?? 0,
  }
  for (const { origin, status } of rows) if (origin !== null) summary[listOf[status]].push(origin)
  return summary
}
