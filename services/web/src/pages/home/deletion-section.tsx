import type { User } from '@gatehouse/client'
import { useState } from 'react'
import { Button } from '../../components/button.tsx'
import { useClient, useStore } from '../../context.ts'
import { DeleteAccountDialog } from './delete-account-dialog.tsx'
import { DeleteIdentitiesDialog } from './delete-identities-dialog.tsx'
import { ExportDialog } from './export-dialog.tsx'
import { t } from '../../language/language.ts'

/** Download of the own data, deletion of identities on other instances, and of the account. */
export function DeletionSection({ user }: { user: User }) {
  const client = useClient()
  const remotes = useStore(client.connections)
  const [open, setOpen] = useState<'account' | 'identities' | 'export' | null>(null)
  return (
    <section className="card" aria-labelledby="deletion-head">
      <div className="card__header">
        <h2 id="deletion-head">{t('Your data')}</h2>
      </div>
      <ul className="list">
        <li className="action-row">
          <span>
            <strong>{t('Download your data')}</strong>
            <span className="muted">{t('One archive with everything that this instance has of you.')}</span>
          </span>
          <Button size="small" onClick={() => setOpen('export')}>
            {t('Download')}
          </Button>
        </li>
        {!user.homeInstance && (
          <li className="action-row">
            <span>
              <strong>{t('Delete identities on other instances')}</strong>
              <span className="muted">
                {t('Deletes your identity on the instances that you choose. Your account here is kept.')}
              </span>
            </span>
            <Button
              variant="danger"
              size="small"
              aria-disabled={remotes.length === 0}
              onClick={() => setOpen('identities')}
            >
              {t('Choose instances')}
            </Button>
          </li>
        )}
        <li className="action-row">
          <span>
            <strong>{t('Delete this account')}</strong>
            <span className="muted">
              {t('Deletes your account here and your identities on connected instances. This cannot be undone.')}
            </span>
          </span>
          <Button variant="danger" size="small" onClick={() => setOpen('account')}>
            {t('Delete account')}
          </Button>
        </li>
      </ul>
      {open === 'account' && (
        <DeleteAccountDialog user={user} onClose={() => setOpen(null)} onExport={() => setOpen('export')} />
      )}
      {open === 'export' && <ExportDialog user={user} onClose={() => setOpen(null)} />}
      {open === 'identities' && <DeleteIdentitiesDialog remotes={remotes} onClose={() => setOpen(null)} />}
    </section>
  )
}
