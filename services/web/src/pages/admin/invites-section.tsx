import type { Client, Invite, InviteRedemption, User } from '@gatehouse/client'
import { limits } from '@gatehouse/contracts/constants'
import { UserName } from '../../components/avatar.tsx'
import { Dialog, DialogButton } from '../../components/dialog.tsx'
import { InviteDialog } from '../../components/invite-dialog.tsx'
import { InviteRow } from '../../components/invite-row.tsx'
import { Menu } from '../../components/menu.tsx'
import { QueryList } from '../../components/query-list.tsx'
import { Badge, RelativeTime } from '../../components/status.tsx'
import { useInstanceInfo, useQuery, type Work } from '../../hooks.ts'
import { t } from '../../language/language.ts'
import { Phrase } from '../../language/phrase.tsx'
import { AdminList } from './admin-list.tsx'
import { BulkSuspendDialog } from './bulk-suspend-dialog.tsx'
import { ReinstateDialog } from './reinstate-dialog.tsx'
import { askBefore, type RowDialogProps, useRowDialog } from './row-dialog.tsx'
import { UserLink } from './user-link.tsx'

const pageSize = 20

export function InvitesSection() {
  const { info } = useInstanceInfo()
  const options = { '': t('Active'), archived: t('Inactive') }
  return (
    <AdminList
      title={t('Invites')}
      filters={[{ name: 'status', label: 'Status', type: 'toggle', options }]}
      fetchPage={async ({ status, ...query }, signal, client) => {
        const inviteQuery = { limit: pageSize, status: status === 'archived' ? status : 'active', ...query } as const
        const { invites: items, nextCursor } = await client.call('listInvites', { query: inviteQuery, signal })
        return { items, nextCursor }
      }}
      watched="invites"
      icon="link"
      empty={({ status }) =>
        status === 'archived' ? t('No inactive invites.') : t('No active invites. Create one to share a link.')
      }
      toolbar={({ refetch }) => (
        <>
          <DialogButton
            variant="primary"
            icon="plus"
            text="New invite"
            dialog={(close) => <InviteDialog row={null} onClose={close} onDone={refetch} />}
          />
          {info?.registrationOpen && (
            <p className="small muted">
              <Phrase text="Registration is open, so anyone can create an account and invite uses aren’t counted. To require an invite, choose “Invite only” under Instance." />
            </p>
          )}
        </>
      )}
    >
      {(invite, refetch) => <AdminInviteRow key={invite.id} invite={invite} onChanged={refetch} />}
    </AdminList>
  )
}

function AdminInviteRow({ invite, onChanged }: { invite: Invite; onChanged: () => void }) {
  const { name, createdBy, createdByUsername: creator } = invite
  const { item, dialog } = useRowDialog({ row: invite, name, onDone: onChanged })
  const active = invite.status === 'active'
  const revoked = invite.status === 'revoked'
  const isUsed = invite.usedCount > 0
  const menu = (
    <Menu label={t('Actions for {username}', { username: name })}>
      {item('Used by', 'Used by: {name}', RedemptionsDialog)}
      {!revoked && item('Edit', 'Edit {name}', InviteDialog)}
      {!active && item('Reinstate', 'Reinstate {name}', ReinstateDialog)}
      {isUsed &&
        item('Suspend everyone who used it', 'Suspend everyone who used it: {name}', SuspendInvitedDialog, {
          dangerous: true,
        })}
      {!revoked && item('Revoke', 'Revoke {name}', RevokeDialog, { dangerous: true })}
      {item('Delete', 'Delete {name}', DeleteInviteDialog, { dangerous: true })}
    </Menu>
  )
  return (
    <InviteRow
      invite={invite}
      creator={creator && <UserLink user={{ id: createdBy, username: creator }} />}
      actions={menu}
    >
      {dialog}
    </InviteRow>
  )
}

const RevokeDialog = askBefore<Invite>({
  dialog: 'RevokeDialog',
  title: 'Revoke {name}',
  text: 'The link stops working immediately. If you reinstate the invite later, it gets a new link.',
  submit: 'Revoke',
  dangerous: true,
  act: (client, { id }) => client.call('revokeInvite', { params: { id } }),
  done: '{name} revoked.',
})

const DeleteInviteDialog = askBefore<Invite>({
  dialog: 'DeleteInviteDialog',
  title: 'Delete {name}',
  text: 'The link stops working and the list of people who used it is deleted. Their accounts stay.',
  submit: 'Delete',
  dangerous: true,
  act: (client, { id }) => client.call('deleteInvite', { params: { id } }),
  done: '{name} deleted.',
})

function SuspendInvitedDialog({ row: invite, name, ...props }: RowDialogProps<Invite>) {
  const listUsers: Work<User[]> = async (signal, client) => {
    const users: User[] = []
    for (let cursor: string | null | undefined; cursor !== null;) {
      const query = { invite: invite.id, pageSize: limits.pageSizeMax, ...(cursor && { cursor }) }
      const page = await client.call('listUsers', { query, signal })
      users.push(...page.users)
      cursor = page.nextCursor
    }
    return users
  }
  return <BulkSuspendDialog title={t('Suspend everyone who used {name}', { name })} listUsers={listUsers} {...props} />
}

function RedemptionsDialog({ row: { id }, name, onClose }: RowDialogProps<Invite>) {
  const fetchPage = (signal: AbortSignal, client: Client, cursor?: string) =>
    client.call('listRedemptions', { params: { id }, query: cursor ? { cursor } : {}, signal })
  const query = useQuery(id, fetchPage)
  const { redemptions = null, nextCursor } = query.data ?? {}
  const addPage = async (signal: AbortSignal, client: Client) => {
    const page = await fetchPage(signal, client, nextCursor ?? '')
    return { ...page, redemptions: [...(redemptions ?? []), ...page.redemptions] }
  }
  return (
    <Dialog dialog="RedemptionsDialog" title={t('People who used {name}', { name })} onClose={onClose}>
      <QueryList
        query={query}
        items={redemptions}
        fetchNextPage={nextCursor ? () => query.load(addPage) : null}
        empty={t('No one has used this invite yet.')}
      >
        {(redemption) => (
          <li key={redemption.id} className="split-row">
            <span>
              <UserName strong>{redemption.registrantUsername}</UserName> <CurrentName redemption={redemption} />
            </span>
            <span className="small muted">
              <RelativeTime at={redemption.redeemedAt} />
            </span>
          </li>
        )}
      </QueryList>
    </Dialog>
  )
}

function CurrentName({ redemption }: { redemption: InviteRedemption }) {
  if (redemption.isDeleted || redemption.currentUsername === null) return <Badge>{t('Deleted')}</Badge>
  if (redemption.currentUsername === redemption.registrantUsername) return null
  return <span className="small muted">{t('now {name}', { name: redemption.currentUsername })}</span>
}
