import { useState } from 'react'
import { Button } from '../../components/button.tsx'
import { useClient, useInstanceInfo } from '../../hooks.ts'
import { t } from '../../language/language.ts'
import { AdminList } from './admin-list.tsx'
import { InviteDialog } from './invite-dialogs.tsx'
import { InviteRow } from './invite-row.tsx'

const pageSize = 20

/** Contract: 4. */
export function InvitesSection() {
  const client = useClient()
  const [creating, setCreating] = useState(false)
  const { info } = useInstanceInfo()
  return (
    <AdminList
      title={t('Invites')}
      filters={[
        {
          name: 'status',
          label: 'Status',
          type: 'toggle',
          options: [
            ['', t('Active')],
            ['archived', t('Archived')],
          ],
        },
      ]}
      fetchPage={async ({ status, ...query }, signal) => {
        const asked = { limit: pageSize, status: status === 'archived' ? status : 'active', ...query } as const
        const { invites: items, nextCursor } = await client.call('listInvites', { query: asked, signal })
        return { items, nextCursor }
      }}
      watched="invites"
      icon="link"
      empty={({ status }) =>
        status === 'archived'
          ? t('No expired, used up or revoked invites.')
          : t('No active invites. Create one and share its link.')
      }
      toolbar={({ refetch }) => (
        <>
          <Button variant="primary" icon="plus" onClick={() => setCreating(true)}>
            {t('New invite')}
          </Button>
          {info?.registrationOpen && (
            <p className="small muted">
              {t(
                'Registration is open: anyone can create an account, and uses of invites are not counted. To require an invite, choose “Invite only” under Instance.',
              )}
            </p>
          )}
          {creating && <InviteDialog invite={null} onClose={() => setCreating(false)} onChanged={refetch} />}
        </>
      )}
    >
      {(invite, refetch) => <InviteRow key={invite.id} invite={invite} onChanged={refetch} />}
    </AdminList>
  )
}
