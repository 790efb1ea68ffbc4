import type { User } from '@gatehouse/client'
import { exportData } from '@gatehouse/client/export'
import { useState } from 'react'
import { ActionRow, Card } from '../../components/card.tsx'
import { ConfirmDialog, DialogButton } from '../../components/dialog.tsx'
import { formatBytes, saveFile } from '../../components/format.ts'
import type { Work } from '../../hooks.ts'
import { t } from '../../language/language.ts'
import { useOwnPassword } from './use-password.tsx'

export function DataSection({ user }: { user: User }) {
  return (
    <Card title={t('Your data')}>
      <ActionRow title={t('Download your data')} text={t('A ZIP file with everything this instance has about you.')}>
        <DialogButton
          size="small"
          text="Download"
          reopens="export"
          dialog={(close) => <ExportDialog user={user} onClose={close} />}
        />
      </ActionRow>
    </Card>
  )
}

/** The archive is streamed, so its total size is unknown until the end. Contract: 3, export. */
export function ExportDialog({ user, onClose }: { user: User; onClose: () => void }) {
  const { field, proof, mutation } = useOwnPassword('export-password')
  const [received, setReceived] = useState(0)
  const download: Work<void> = async (signal, client) => {
    setReceived(0)
    const archive = await exportData(client, proof, { signal, onProgress: setReceived })
    saveFile(archive, `${user.username}.zip`)
  }
  return (
    <ConfirmDialog
      dialog="ExportDialog"
      title={t('Download your data')}
      text="A ZIP file with your profile, uploads, invites, friends, spaces and messages. You can download it twice a day."
      submit={t('Download')}
      mutation={mutation}
      interruptible
      act={download}
      done={t('Download complete.')}
      onClose={onClose}
    >
      {field}
      {mutation.busy && (
        <div role="status" className="progress">
          <progress aria-label={t('Download')} />
          <span className="small muted tabular">{t('{number} downloaded', { number: formatBytes(received) })}</span>
        </div>
      )}
    </ConfirmDialog>
  )
}
