import type { User } from '@gatehouse/client'
import { useState } from 'react'
import { Button } from '../../components/button.tsx'
import { ActionRow, Card } from '../../components/card.tsx'
import { useClient, useStore } from '../../hooks.ts'
import { t } from '../../language/language.ts'
import { DeleteAccountDialog, DeleteIdentitiesDialog, ExportDialog } from './account-dialogs.tsx'

export function DataSection({ user }: { user: User }) {
  const [isOpen, setOpen] = useState(false)
  return (
    <Card title={t('Your data')}>
      <ActionRow title={t('Download your data')} text={t('One archive with everything that this instance has of you.')}>
        <Button size="small" onClick={() => setOpen(true)}>
          {t('Download')}
        </Button>
      </ActionRow>
      {isOpen && <ExportDialog user={user} onClose={() => setOpen(false)} />}
    </Card>
  )
}

export function LeaveSection({ user }: { user: User }) {
  const remotes = useStore(useClient().connections)
  const [open, setOpen] = useState<'account' | 'identities' | 'export' | null>(null)
  const close = () => setOpen(null)
  return (
    <Card title={t('Leave')}>
      <div className="list">
        {!user.homeInstance && (
          <ActionRow
            title={t('Delete identities on other instances')}
            text={t('Deletes your identity on the instances that you choose. Your account here is kept.')}
          >
            <Button
              variant="danger"
              size="small"
              aria-disabled={remotes.length === 0}
              onClick={() => setOpen('identities')}
            >
              {t('Choose instances')}
            </Button>
          </ActionRow>
        )}
        <ActionRow
          title={t('Delete this account')}
          text={t('Deletes your account here and your identities on connected instances. This cannot be undone.')}
        >
          <Button variant="danger" size="small" onClick={() => setOpen('account')}>
            {t('Delete account')}
          </Button>
        </ActionRow>
      </div>
      {open === 'account' && <DeleteAccountDialog user={user} onClose={close} onExport={() => setOpen('export')} />}
      {open === 'export' && <ExportDialog user={user} onClose={close} />}
      {open === 'identities' && <DeleteIdentitiesDialog remotes={remotes} onClose={close} />}
    </Card>
  )
}
