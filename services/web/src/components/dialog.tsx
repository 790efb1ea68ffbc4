import '../styles/dialog.css'
import { type ReactNode, useEffect, useId, useRef } from 'react'
import type { Mutation } from '../hooks/use-mutation.ts'
import { Button, IconButton } from './button.tsx'
import { MutationError, submitLabel } from './error-message.tsx'
import { t } from '../language/language.ts'

type DialogProps = { title: string; onClose: () => void; children: ReactNode; wide?: boolean; locked?: boolean }

/** The browser's modal dialog: traps the focus, closes on Escape, restores the focus. `locked` prevents closing. */
export function Dialog({ title, onClose, children, wide = false, locked = false }: DialogProps) {
  const ref = useRef<HTMLDialogElement>(null)
  const id = useId()
  useEffect(() => {
    const dialog = ref.current
    const opener = document.activeElement
    if (dialog && !dialog.open) dialog.showModal()
    return () => {
      dialog?.close()
      if (opener instanceof HTMLElement && opener.isConnected) opener.focus()
    }
  }, [])
  return (
    <dialog
      ref={ref}
      className={wide ? 'dialog dialog--wide' : 'dialog'}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault()
        if (!locked) onClose()
      }}
      onKeyDown={(event) => {
        // Chromium closes a dialog on the second Escape even if `cancel` was prevented.
        if (event.key === 'Escape') event.preventDefault()
        if (event.key === 'Escape' && !locked) onClose()
      }}
    >
      <header className="dialog__header">
        <h2 id={id}>{title}</h2>
        <IconButton icon="close" label={t('Close')} onClick={onClose} disabled={locked} />
      </header>
      <div className="dialog__body">{children}</div>
    </dialog>
  )
}

/** The buttons of a dialog, with the error beside them. They stay visible while the body scrolls. */
export function DialogActions({ mutation, children }: { mutation?: Mutation; children: ReactNode }) {
  return (
    <div className="dialog__actions">
      {mutation && <MutationError mutation={mutation} />}
      <div className="dialog__buttons">{children}</div>
    </div>
  )
}

type ConfirmDialogProps = {
  title: string
  mutation: Mutation
  confirmLabel: string
  dangerous?: boolean
  onConfirm: () => void
  onClose: () => void
  children: ReactNode
}

/** Asks for confirmation before `onConfirm`. */
export function ConfirmDialog({
  title,
  mutation,
  confirmLabel,
  dangerous = true,
  onConfirm,
  onClose,
  children,
}: ConfirmDialogProps) {
  return (
    <Dialog title={title} onClose={onClose} locked={mutation.busy}>
      {children}
      <DialogActions mutation={mutation}>
        <Button onClick={onClose} disabled={mutation.busy}>
          {t('Cancel')}
        </Button>
        <Button
          variant={dangerous ? 'danger-solid' : 'primary'}
          busy={mutation.busy}
          aria-disabled={mutation.waitSeconds > 0}
          onClick={onConfirm}
        >
          {submitLabel(mutation, confirmLabel)}
        </Button>
      </DialogActions>
    </Dialog>
  )
}
