import { useEffect, useId, useRef, type ReactNode } from 'react'
import type { Act } from '../hooks/use-act.ts'
import { ActProblem } from './act-problem.tsx'
import { IconButton } from './button.tsx'

type Props = { title: string; onClose: () => void; children: ReactNode; wide?: boolean; held?: boolean }

/** A modal dialog of the browser's own: it traps focus, closes on Escape and gives the focus back. `held` keeps it open. */
export function Dialog({ title, onClose, children, wide = false, held = false }: Props) {
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
        if (!held) onClose()
      }}
      onKeyDown={(event) => {
        // Browsers close a dialog on the second Escape whatever `cancel` says.
        if (event.key === 'Escape') event.preventDefault()
        if (event.key === 'Escape' && !held) onClose()
      }}
    >
      <header className="dialog__head">
        <h2 id={id}>{title}</h2>
        <IconButton icon="close" label="Close" onClick={onClose} disabled={held} />
      </header>
      <div className="dialog__body">{children}</div>
    </dialog>
  )
}

/** The buttons that end a dialog, and beside them what went wrong. They stay in sight when its body scrolls. */
export function DialogActions({ act, children }: { act?: Act; children: ReactNode }) {
  return (
    <div className="dialog__actions">
      {act && <ActProblem act={act} />}
      <div className="dialog__buttons">{children}</div>
    </div>
  )
}
