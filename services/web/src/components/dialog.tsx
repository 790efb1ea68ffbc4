import '../styles/dialog.css'
import { type ComponentProps, Fragment, type ReactNode, useId, useLayoutEffect, useRef, useState } from 'react'
import { isEnded, type Mutation, openEntries, useClient, useConnectionLost, useMutation, type Work } from '../hooks.ts'
import { t, type Text, type Values } from '../language/language.ts'
import { useTripState } from '../provider-trips.ts'
import { Button, IconButton } from './button.tsx'
import type { DialogName } from './dialog-names.ts'
import { MutationError, SubmitButton } from './error-message.tsx'
import { Form } from './field.tsx'

type Props = {
  /** Of this one alone. */
  dialog: DialogName
  title: string
  text?: Text
  values?: Values
  children?: ReactNode
  wide?: boolean
  onClose: () => void
  /** The label of the button that closes: “Cancel”, without `onSubmit` “Done”. */
  closeLabel?: string
  onSubmit?: () => unknown
  submit?: string
  submitDisabled?: boolean
  dangerous?: boolean
  /** While it runs, the dialog stays open unless `interruptible`. */
  mutation?: Mutation | undefined
  interruptible?: boolean
  actions?: ReactNode
  /** `field`: the first field, else the button that closes. */
  focus?: 'field' | 'submit'
  /** Whether closing loses something. By default, whether a field has changed. */
  changed?: boolean | undefined
  /** What was entered outlives the session. */
  kept?: boolean
}

/** A modal dialog. It asks before it drops what was entered. */
// eslint-disable-next-line max-lines-per-function -- one element with its focus, history and closing
export function Dialog(props: Props) {
  const { title, text, children, wide = false, onClose, onSubmit, mutation, focus = 'field', changed } = props
  const ref = useRef<HTMLDialogElement>(null)
  const id = useId()
  const client = useClient()
  const isConnectionLost = useConnectionLost()
  const initialFields = useRef('')
  const [isAsking, setAsking] = useState(false)
  const locked = mutation?.busy === true && !props.interruptible

  const hasEntries = useRef<() => boolean>(() => false)
  hasEntries.current = () => changed ?? (ref.current !== null && readFields(ref.current) !== initialFields.current)

  useLayoutEffect(() => {
    const dialog = ref.current
    const opener = document.activeElement
    if (!dialog) return
    dialog.showModal()
    initialFields.current = readFields(dialog)
    findFirstFocus(dialog, focus)?.focus()
    return () => {
      // The outer dialog has closed it already.
      if (!dialog.open) return
      if (isEnded(client) && hasEntries.current()) openEntries.outcome = props.kept ? 'kept' : 'lost'
      for (const inner of dialog.querySelectorAll('dialog')) inner.close()
      dialog.close()
      const target = opener?.isConnected ? opener : document.getElementById('main')
      if (target instanceof HTMLElement) target.focus()
    }
  }, [])

  const close = () => {
    if (locked) return
    if (hasEntries.current()) setAsking(true)
    else onClose()
  }
  return (
    <dialog
      ref={ref}
      data-dialog={props.dialog}
      className={wide ? 'dialog dialog--wide' : 'dialog'}
      aria-labelledby={id}
      onCancel={(event) => {
        // A file chooser inside fires this event too.
        if (event.target !== event.currentTarget) return
        event.preventDefault()
        close()
      }}
      onKeyDown={(event) => {
        event.stopPropagation()
        if (event.key !== 'Escape') return
        // Chromium closes a dialog on the second Escape even if `cancel` was prevented.
        event.preventDefault()
        close()
      }}
    >
      <header className="dialog__header">
        <h2 id={id}>{title}</h2>
        <IconButton icon="close" label={t('Close')} onClick={close} disabled={locked} />
      </header>
      <Form className="dialog__body" onSubmit={() => onSubmit?.()}>
        {text && <p>{t(text, props.values)}</p>}
        {children}
        <div className="dialog__actions">
          {mutation && (
            <MutationError mutation={mutation} note={isConnectionLost && t('Connection lost. Reconnecting…')} />
          )}
          <div className="dialog__buttons">
            <Button className="dialog__close" onClick={close} disabled={locked}>
              {props.closeLabel ?? (onSubmit ? t('Cancel') : t('Done'))}
            </Button>
            {props.actions}
            {onSubmit && (
              <SubmitButton
                mutation={mutation}
                variant={props.dangerous ? 'danger-solid' : 'primary'}
                aria-disabled={props.submitDisabled}
              >
                {props.submit}
              </SubmitButton>
            )}
          </div>
        </div>
      </Form>
      {isAsking && (
        <Dialog
          dialog="DiscardDialog"
          title={t('Discard unsaved changes?')}
          text="Your changes haven’t been saved."
          submit={t('Discard')}
          dangerous
          closeLabel={t('Keep editing')}
          onSubmit={onClose}
          onClose={() => setAsking(false)}
        />
      )}
    </dialog>
  )
}

const field = (types: string) => `:is(input${types}, textarea, select):enabled:not([tabindex='-1'], [readonly])`
const typedField = field(':not([type=checkbox], [type=radio], [type=range], [type=color], [type=file])')

function findFirstFocus(dialog: HTMLElement, focus: 'field' | 'submit'): HTMLElement | null | undefined {
  const first = [typedField, field(''), '[data-first-focus]', '.dialog__close']
  const selectors = focus === 'submit' ? ['[type=submit]'] : first
  return selectors.map((selector) => dialog.querySelector<HTMLElement>(selector)).find(Boolean)
}

/** Sliders and file inputs do not count. */
function readFields(dialog: HTMLElement): string {
  const fields = [...dialog.querySelectorAll<HTMLInputElement>(field(':not([type=range], [type=file])'))]
  return JSON.stringify(fields.map(({ type, value, checked }) => (/^(checkbox|radio)$/.test(type) ? checked : value)))
}

type ConfirmProps<T> = Omit<Props, 'onSubmit'> & {
  act: Work<T>
  /** The last field, with its mutation. */
  confirmation?: { field: ReactNode; mutation: Mutation }
  done?: string | ((reply: T) => string)
  onDone?: () => void
  /** What follows in its place. */
  next?: (reply: T) => ReactNode
}

/** Runs `act` and closes when it has succeeded. */
export function ConfirmDialog<T>({ act, confirmation, done, onDone, next, children, ...props }: ConfirmProps<T>) {
  const own = useMutation()
  const mutation = props.mutation ?? confirmation?.mutation ?? own
  const [succeeded, setSucceeded] = useState<{ reply: T } | null>(null)
  const submit = async () => {
    const result = await mutation.run(act, done)
    if (!result) return
    if (next) setSucceeded(result)
    else props.onClose()
    onDone?.()
  }
  // A dialog of its own, with a first focus of its own.
  if (succeeded && next) return <Fragment key="next">{next(succeeded.reply)}</Fragment>
  return (
    <Dialog {...props} mutation={mutation} onSubmit={submit}>
      {children}
      {confirmation?.field}
    </Dialog>
  )
}

type DialogButtonProps = ComponentProps<typeof Button> & {
  dialog: (close: () => void) => ReactNode
  /** As what it opens again after a trip to an identity provider. */
  reopens?: string
}

export function DialogButton({ dialog, reopens, ...button }: DialogButtonProps) {
  const [isOpen, setOpen] = useTripState(reopens ?? null, false)
  return (
    <>
      <Button {...button} onClick={() => setOpen(true)} />
      {isOpen && dialog(() => setOpen(false))}
    </>
  )
}
