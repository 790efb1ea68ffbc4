import type { Client, Invite, User } from '@gatehouse/client'
import { useState } from 'react'
import { Button } from '../../components/button.tsx'
import { Card } from '../../components/card.tsx'
import { ConfirmDialog, DialogButton } from '../../components/dialog.tsx'
import { InviteDialog } from '../../components/invite-dialog.tsx'
import { InviteRow } from '../../components/invite-row.tsx'
import { QueryList } from '../../components/query-list.tsx'
import { useQuery } from '../../hooks.ts'
import { t } from '../../language/language.ts'
import { useOwnAccount } from '../../own-account.ts'

const views = { active: 'Active', archived: 'Inactive' } as const

/** A revoked invite still counts for 30 days, so `left` does not rise. Contract: 4, Invites of members. */
export function OwnInvitesCard({ user }: { user: User }) {
  const count = useOwnAccount(user).account?.memberInvites ?? 0
  const [status, setStatus] = useState<keyof typeof views>('active')
  const fetchPage = (signal: AbortSignal, client: Client, cursor?: string) =>
    client.call('listOwnInvites', { query: { status, ...(cursor && { cursor }) }, signal })
  const query = useQuery(`own invites ${status}`, fetchPage)
  const { invites = null, nextCursor, left } = query.data ?? {}
  const addPage = async (signal: AbortSignal, client: Client) => {
    const page = await fetchPage(signal, client, nextCursor ?? '')
    return { ...page, invites: [...(invites ?? []), ...page.invites] }
  }
  const { refetch } = query
  return (
    <Card
      title={t('Invites')}
      text="Invite people you know with a link. Admins see who invited whom."
      action={
        <DialogButton
          size="small"
          icon="plus"
          text="New invite"
          dialog={(close) => <InviteDialog row={null} isOwn onClose={close} onDone={refetch} />}
        />
      }
    >
      <div className="stack stack--tight">
        <p className="small muted">
          {left === 0
            ? t('You’ve created all your invites for now: {count} in 30 days.', { count })
            : t('You can create {count} in 30 days.', { count })}{' '}
          {left !== undefined && left > 0 && t('Left now: {left}.', { left })}
        </p>
        <div className="button-row" role="group" aria-label={t('Status')}>
          {(['active', 'archived'] as const).map((view) => (
            <Button
              key={view}
              size="small"
              className="toggle"
              text={views[view]}
              aria-pressed={view === status}
              onClick={() => setStatus(view)}
            />
          ))}
        </div>
      </div>
      <QueryList
        query={query}
        items={invites}
        fetchNextPage={nextCursor ? () => query.load(addPage) : null}
        empty={status === 'active' ? t('No active invites. Create one to share a link.') : t('No inactive invites.')}
      >
        {(invite) => <OwnInviteRow key={invite.id} invite={invite} onChanged={refetch} />}
      </QueryList>
    </Card>
  )
}

function OwnInviteRow({ invite, onChanged }: { invite: Invite; onChanged: () => void }) {
  const { id, name, status } = invite
  const revoke = (close: () => void) => (
    <ConfirmDialog
      dialog="RevokeOwnInviteDialog"
      title={t('Revoke {name}', { name })}
      text="The link stops working immediately."
      submit={t('Revoke')}
      dangerous
      act={(signal, client) => client.call('revokeOwnInvite', { params: { id }, signal })}
      done={t('{name} revoked.', { name })}
      onClose={close}
      onDone={onChanged}
    />
  )
  return (
    <InviteRow
      invite={invite}
      actions={
        status === 'active' && (
          <DialogButton
            size="small"
            variant="danger"
            text="Revoke"
            fullText="Revoke {name}"
            values={{ name }}
            dialog={revoke}
          />
        )
      }
    />
  )
}
