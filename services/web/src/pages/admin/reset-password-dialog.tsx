import type { User } from '@gatehouse/client'
import { useState } from 'react'
import { client } from '../../client.ts'
import { useAct } from '../../hooks/use-act.ts'
import { Button } from '../../parts/button.tsx'
import { ConfirmDialog } from '../../parts/confirm-dialog.tsx'
import { CopyButton } from '../../parts/copy-button.tsx'
import { Dialog, DialogActions } from '../../parts/dialog.tsx'
import { Notice } from '../../parts/notice.tsx'

/** Resets a password and shows the temporary one this single time. Spec: POST reset-password. */
export function ResetPasswordDialog({ user, isSelf, onClose }: { user: User; isSelf: boolean; onClose: () => void }) {
  const act = useAct()
  const [temporary, setTemporary] = useState<string | null>(null)
  if (temporary) return <TemporaryPassword username={user.username} password={temporary} onClose={onClose} />

  const reset = () =>
    act.run(async () => setTemporary((await client.api.admin.resetPassword(user.id)).temporaryPassword))
  return (
    <ConfirmDialog
      title={`Reset the password of ${user.username}`}
      verb="Reset password"
      act={act}
      onConfirm={() => void reset()}
      onClose={onClose}
    >
      <p>
        {isSelf
          ? 'You will be logged out before you could read the new password. Use the password form on your home page instead.'
          : 'They are logged out everywhere at once. You get a temporary password to hand over yourself.'}
      </p>
    </ConfirmDialog>
  )
}

function TemporaryPassword({
  username,
  password,
  onClose,
}: {
  username: string
  password: string
  onClose: () => void
}) {
  return (
    <Dialog title={`New password for ${username}`} onClose={onClose} held={false}>
      <Notice tone="warning">
        <p>This password is shown only now. Hand it over on a way you trust.</p>
      </Notice>
      <div className="secret">
        <code className="secret__text" data-testid="temporary-password">
          {password}
        </code>
        <CopyButton text={password} label="Copy the temporary password" />
      </div>
      <DialogActions>
        <Button look="primary" onClick={onClose}>
          I have kept it
        </Button>
      </DialogActions>
    </Dialog>
  )
}
