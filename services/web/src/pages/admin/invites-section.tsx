import type { Invite } from '@gatehouse/client'
import { useState } from 'react'
import { Button } from '../../components/button.tsx'
import { QueryError } from '../../components/error-message.tsx'
import { EmptyState } from '../../components/notice.tsx'
import { ListSkeleton } from '../../components/skeleton.tsx'
import { useClient } from '../../context.ts'
import { useAdminChanges } from '../../hooks/use-admin-changes.ts'
import { useInfiniteQuery } from '../../hooks/use-infinite-query.ts'
import { useQuery } from '../../hooks/use-query.ts'
import { InviteDialog } from './invite-dialog.tsx'
import { InviteRow } from './invite-row.tsx'
import { t } from '../../language/language.ts'

const statuses = [
  ['active', 'Active'],
  ['archived', 'Archived'],
] as const

/** The invites: create, copy the link, edit, revoke, reinstate, delete, list redemptions. Contract: 4. */
export function InvitesSection() {
  const client = useClient()
  const [status, setStatus] = useState<'active' | 'archived'>('active')
  const [creating, setCreating] = useState(false)
  const query = useInfiniteQuery<Invite>(status, async (cursor, signal) => {
    const page = await client.call('listInvites', { query: { status, ...(cursor ? { cursor } : {}) }, signal })
    return { items: page.invites, nextCursor: page.nextCursor }
  })
  useAdminChanges('invites', query.refetch)
  const info = useQuery('instance', (signal) => client.call('instanceInfo', { signal }))
  return (
    <section className="stack" aria-label={t('Invites')}>
      <h2 className="visually-hidden">{t('Invites')}</h2>
      <div className="toolbar">
        <div className="button-row" role="group" aria-label={t('Status')}>
          {statuses.map(([key, label]) => (
            <Button
              key={key}
              size="small"
              aria-pressed={status === key}
              className="toggle"
              onClick={() => setStatus(key)}
            >
              {t(label)}
            </Button>
          ))}
        </div>
        <Button variant="primary" icon="plus" onClick={() => setCreating(true)}>
          {t('New invite')}
        </Button>
      </div>
      {info.data?.registrationOpen && (
        <p className="small muted">
          {t(
            'Registration is open: anyone can create an account, and uses of invites are not counted. To require an invite, choose “Invite only” under Settings.',
          )}
        </p>
      )}
      <QueryError query={query} />
      {!query.items && query.loading && <ListSkeleton />}
      {query.items?.length === 0 && (
        <EmptyState icon="link">
          <p>
            {status === 'active'
              ? t('No active invites. Create one and share its link.')
              : t('No expired, used up or revoked invites.')}
          </p>
        </EmptyState>
      )}
      {query.items && query.items.length > 0 && (
        <ul className="card list" aria-busy={query.loading}>
          {query.items.map((invite) => (
            <InviteRow key={invite.id} invite={invite} onChanged={query.refetch} />
          ))}
        </ul>
      )}
      {query.fetchNextPage && (
        <Button busy={query.loading} onClick={query.fetchNextPage}>
          {t('Show more')}
        </Button>
      )}
      {creating && (
        <InviteDialog
          invite={null}
          onClose={() => setCreating(false)}
          onSaved={() => (setStatus('active'), query.refetch())}
        />
      )}
    </section>
  )
}
