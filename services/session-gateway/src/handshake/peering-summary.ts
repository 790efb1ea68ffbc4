import { read } from '@gatehouse/database'
import type { OperationContext } from '../context.ts'

export type PeeringReader = ReturnType<typeof createPeeringReader>

/** Handshakes of a short time share one read. */
export function createPeeringReader({ orm, timer, timings }: Pick<OperationContext, 'orm' | 'timer' | 'timings'>) {
  let latest: { summary: Promise<PeeringSummary>; readAt: number } | undefined
  return {
    async read(): Promise<PeeringSummary> {
      const now = timer.now()
      if (!latest || now - latest.readAt >= timings.peeringSummaryMs) {
        const reading = { summary: readPeeringSummary({ orm }), readAt: now }
        latest = reading
        reading.summary.catch(() => {
          if (latest === reading) latest = undefined
        })
      }
      return await latest.summary
    },
  }
}

/** Contract: 6, `ready`. */
export type PeeringSummary = Awaited<ReturnType<typeof readPeeringSummary>>

type Row = { origin: string | null; status: 'active' | 'rejected' | 'awaiting_approval'; pending: number }

async function readPeeringSummary({ orm }: Pick<OperationContext, 'orm'>) {
  const rows = await read<Row>(
    orm.em.fork(),
    `select origin, status, pending
     from (select count(*)::int as pending from approval_requests where status = 'pending') as requests
     left join peers on status in ('active', 'rejected', 'awaiting_approval') order by peers.id`,
  )
  const originsOf = (status: Row['status']) => rows.flatMap((row) => (row.status === status ? (row.origin ?? []) : []))
  return {
    activePeerOrigins: originsOf('active'),
    rejectedPeerOrigins: originsOf('rejected'),
    awaitingApprovalPeerOrigins: originsOf('awaiting_approval'),
    pendingApprovalCount: rows[0]?.pending ?? 0,
  }
}
