import type { Invite, InviteRedemption } from '@gatehouse/client'
import { client } from '../../client.ts'
import { usePages } from '../../hooks/use-pages.ts'
import { Button } from '../../parts/button.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { LoadProblem } from '../../parts/load-problem.tsx'
import { Moment } from '../../parts/moment.tsx'
import { Pill } from '../../parts/pill.tsx'
import { RowShimmer } from '../../parts/row-shimmer.tsx'

/** Who came in by an invite, under the name of that day and the name of today. */
export function RedemptionsDialog({ invite, onClose }: { invite: Invite; onClose: () => void }) {
  const pages = usePages<InviteRedemption>(invite.id, async (cursor, signal) => {
    const page = await client.api.invites.listRedemptions(invite.id, cursor ? { cursor } : {}, { signal })
    return { items: page.redemptions, nextCursor: page.nextCursor }
  })
  return (
    <Dialog title={`Who used ${invite.name}`} onClose={onClose}>
      <LoadProblem load={pages} />
      {!pages.items && pages.loading && <RowShimmer rows={2} />}
      {pages.items?.length === 0 && <p className="quiet">Nobody has used it yet.</p>}
      <ul className="rows">
        {pages.items?.map((redemption) => (
          <li key={redemption.id} className="redemption">
            <span>
              <strong>{redemption.registrantUsername}</strong> <Today redemption={redemption} />
            </span>
            <span className="small quiet">
              <Moment at={redemption.redeemedAt} />
            </span>
          </li>
        ))}
      </ul>
      {pages.more && (
        <Button busy={pages.loading} onClick={pages.more}>
          Show more
        </Button>
      )}
    </Dialog>
  )
}

function Today({ redemption }: { redemption: InviteRedemption }) {
  if (redemption.isDeleted || redemption.currentUsername === null) return <Pill>Deleted</Pill>
  if (redemption.currentUsername === redemption.registrantUsername) return null
  return <span className="small quiet">now {redemption.currentUsername}</span>
}
