import type { User } from '@gatehouse/client'
import { useState } from 'react'
import { Dialog } from '../../components/dialog.tsx'
import { formatBytes } from '../../components/format-bytes.ts'
import { useToast } from '../../components/toaster.tsx'
import { useClient } from '../../context.ts'
import { useMutation } from '../../hooks/use-mutation.ts'
import { t } from '../../language/language.ts'
import { useOwnPassword } from './use-own-password.tsx'

/** Downloads everything of the account as one archive, with progress. Contract: 3, export. */
export function ExportDialog({ user, onClose }: { user: User; onClose: () => void }) {
  const client = useClient()
  const mutation = useMutation()
  const ownPassword = useOwnPassword(user, mutation, 'export-password')
  const showToast = useToast()
  const [received, setReceived] = useState(0)

  const submit = async () => {
    if (!ownPassword.submit()) return
    setReceived(0)
    const done = await mutation.run(async (signal) => {
      const archive = await client.exportData({ password: ownPassword.password }, { signal, onProgress: setReceived })
      saveFile(archive, `${user.username}.zip`)
    })
    if (!done) return
    showToast(t('Your data was downloaded.'))
    onClose()
  }
  return (
    <Dialog
      title={t('Download your data')}
      submit={t('Download')}
      mutation={ownPassword.mutation}
      interruptible
      onSubmit={submit}
      onClose={onClose}
    >
      <p>
        {t(
          'One archive with your profile, uploads, invites, friends, spaces and the messages that you wrote. You can download it twice a day.',
        )}
      </p>
      {ownPassword.field}
      {mutation.busy && (
        <div role="status" className="progress">
          <progress aria-label={t('Download')} />
          <span className="small muted tabular">{t('{number} received', { number: formatBytes(received) })}</span>
        </div>
      )}
    </Dialog>
  )
}

function saveFile(file: Blob, name: string): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(file)
  link.download = name
  link.click()
  URL.revokeObjectURL(link.href)
}
