import type { ReactNode } from 'react'
import type { Act } from '../hooks/use-act.ts'
import { limitedLabel } from './act-problem.tsx'
import { Button } from './button.tsx'
import { Dialog, DialogActions } from './dialog.tsx'

type Props = {
  title: string
  act: Act
  /** The words of the button that does it. */
  verb: string
  dangerous?: boolean
  onConfirm: () => void
  onClose: () => void
  children: ReactNode
}

/** Asks before something that cannot be taken back. */
export function ConfirmDialog({ title, act, verb, dangerous = true, onConfirm, onClose, children }: Props) {
  return (
    <Dialog title={title} onClose={onClose} held={act.busy}>
      {children}
      <DialogActions act={act}>
        <Button onClick={onClose} disabled={act.busy}>
          Cancel
        </Button>
        <Button
          look={dangerous ? 'danger-solid' : 'primary'}
          busy={act.busy}
          aria-disabled={act.waitSeconds > 0}
          onClick={onConfirm}
        >
          {limitedLabel(act, verb)}
        </Button>
      </DialogActions>
    </Dialog>
  )
}
