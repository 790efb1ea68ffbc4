import type { Invite, InviteRedemption } from '@gatehouse/client'
import { Badge } from '../../components/badge.tsx'
import { Button } from '../../components/button.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { QueryError } from '../../components/error-message.tsx'
import { RelativeTime } from '../../components/relative-time.tsx'
import { ListSkeleton } from '../../components/skeleton.tsx'
import { useClient } from '../../context.ts'
import { useInfiniteQuery } from '../../hooks/use-infinite-query.ts'
import { t } from '../../language/language.ts'

/** The accounts created with an invite, by their username at registration and the current one. */
export function RedemptionsDialog({ invite, onClose }: { invite: Invite; onClose: () => void }) {
  const client = useClient()
  const query = useInfiniteQuery<InviteRedemption>(invite.id, async (cursor, signal) => {
    const page = await client.call('listRedemptions', {
      params: { id: invite.id },
      query: cursor ? { cursor } : {},
      signal,
    })
    return { items: page.redemptions, nextCursor: page.nextCursor }
  })
  return (
    <Dialog title={t('Who used {name}', { name: invite.name })} onClose={onClose}>
      <QueryError query={query} />
      {!query.items && query.loading && <ListSkeleton rows={2} />}
      {query.items?.length === 0 && <p className="muted">{t('No one has used this invite yet.')}</p>}
      <ul className="list">
        {query.items?.map((redemption) => (
          <li key={redemption.id} className="redemption">
            <span>
              <strong>{redemption.registrantUsername}</strong> <CurrentName redemption={redemption} />
            </span>
            <span className="small muted">
              <RelativeTime at={redemption.redeemedAt} />
            </span>
          </li>
        ))}
      </ul>
      {query.fetchNextPage && (
        <Button busy={query.loading} onClick={query.fetchNextPage}>
          {t('Show more')}
        </Button>
      )}
    </Dialog>
  )
}

function CurrentName({ redemption }: { redemption: InviteRedemption }) {
  if (redemption.isDeleted || redemption.currentUsername === null) return <Badge>{t('Deleted')}</Badge>
  if (redemption.currentUsername === redemption.registrantUsername) return null
  return <span className="small muted">{t('now {name}', { name: redemption.currentUsername })}</span>
}
