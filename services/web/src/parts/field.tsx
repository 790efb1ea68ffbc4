import { useId, type InputHTMLAttributes, type ReactNode, type Ref } from 'react'

export type FieldWords = {
  label: string
  optional?: boolean
  hint?: ReactNode
  error?: string | null
  good?: string | null
}

type LineProps = FieldWords & { id: string; aside?: ReactNode }

/** The line under a control. It is always there and polite about changes, so that messages move nothing. */
export function FieldLine({ id, hint, error, good, aside }: LineProps) {
  const tone = error ? ' field__line--error' : good ? ' field__line--good' : ''
  return (
    <div className={`field__line${tone}`}>
      <span id={id} aria-live="polite">
        {error || good || hint}
      </span>
      {aside}
    </div>
  )
}

export function FieldLabel({
  htmlFor,
  label,
  optional,
}: {
  htmlFor: string
  label: string
  optional?: boolean | undefined
}) {
  return (
    <label className="field__label" htmlFor={htmlFor}>
      {label}
      {optional && <span className="field__optional"> (optional)</span>}
    </label>
  )
}

type Props = FieldWords &
  InputHTMLAttributes<HTMLInputElement> & { inputRef?: Ref<HTMLInputElement>; act?: ReactNode; aside?: ReactNode }

/** A text input with its label, its hint and its error where it happens. */
export function Field({ label, optional, hint, error, good, inputRef, act, aside, ...input }: Props) {
  const id = useId()
  const control = (
    <input
      {...input}
      ref={inputRef}
      id={id}
      className="input"
      aria-invalid={error ? true : undefined}
      aria-describedby={`${id}-line`}
    />
  )
  return (
    <div className="field">
      <FieldLabel htmlFor={id} label={label} optional={optional} />
      {act ? (
        <div className="input-frame">
          {control}
          {act}
        </div>
      ) : (
        control
      )}
      <FieldLine id={`${id}-line`} label={label} hint={hint} error={error ?? null} good={good ?? null} aside={aside} />
    </div>
  )
}
