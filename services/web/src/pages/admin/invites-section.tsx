import { useState } from 'react'
import { Button } from '../../components/button.tsx'
import { QueryList } from '../../components/query-list.tsx'
import { useClient, useInstanceInfo, usePages } from '../../hooks.ts'
import { t } from '../../language/language.ts'
import { InviteDialog } from './invite-dialogs.tsx'
import { InviteRow } from './invite-row.tsx'

const statuses = [
  ['active', 'Active'],
  ['archived', 'Archived'],
] as const

/** Contract: 4. */
export function InvitesSection() {
  const client = useClient()
  const [status, setStatus] = useState<'active' | 'archived'>('active')
  const [creating, setCreating] = useState(false)
  const fetchPage = async (cursor: { cursor?: string }, signal: AbortSignal) => {
    const { invites: items, nextCursor } = await client.call('listInvites', { query: { status, ...cursor }, signal })
    return { items, nextCursor }
  }
  const query = usePages(status, fetchPage, 'invites')
  const { info } = useInstanceInfo()
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
      {info?.registrationOpen && (
        <p className="small muted">
          {t(
            'Registration is open: anyone can create an account, and uses of invites are not counted. To require an invite, choose “Invite only” under Settings.',
          )}
        </p>
      )}
      <QueryList
        {...query}
        query={query}
        empty={
          status === 'active'
            ? t('No active invites. Create one and share its link.')
            : t('No expired, used up or revoked invites.')
        }
      >
        {(invite) => <InviteRow key={invite.id} invite={invite} onChanged={query.refetch} />}
      </QueryList>
      {creating && (
        <InviteDialog
          invite={null}
          onClose={() => setCreating(false)}
          onChanged={() => (setStatus('active'), query.refetch())}
        />
      )}
    </section>
  )
}
