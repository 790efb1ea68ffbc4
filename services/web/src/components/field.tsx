import {
  type ComponentProps,
  type InputHTMLAttributes,
  type ReactNode,
  type Ref,
  type SelectHTMLAttributes,
  type TextareaHTMLAttributes,
  useId,
  useState,
} from 'react'

export type FieldText = {
  label: string
  optional?: boolean
  hint?: ReactNode
  error?: string | null
  good?: string | null
}

type FieldMessageProps = Pick<FieldText, 'hint' | 'error' | 'good'> & { id: string; aside?: ReactNode }

/** The line below a control, announced politely. It is always there, so that the layout does not shift. */
export function FieldMessage({ id, hint, error, good, aside }: FieldMessageProps) {
  const tone = error ? ' field__message--error' : good ? ' field__message--good' : ''
  return (
    <div className={`field__message${tone}`}>
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

type FieldProps = FieldText &
  InputHTMLAttributes<HTMLInputElement> & { inputRef?: Ref<HTMLInputElement>; action?: ReactNode; aside?: ReactNode }

/** A text input with label, hint and error. */
export function Field({ label, optional, hint, error, good, inputRef, action, aside, ...input }: FieldProps) {
  const id = useId()
  const control = (
    <input
      {...input}
      ref={inputRef}
      id={id}
      className="input"
      aria-invalid={error ? true : undefined}
      aria-describedby={`${id}-message`}
    />
  )
  return (
    <div className="field">
      <FieldLabel htmlFor={id} label={label} optional={optional} />
      {action ? (
        <div className="input-group">
          {control}
          {action}
        </div>
      ) : (
        control
      )}
      <FieldMessage id={`${id}-message`} hint={hint} error={error ?? null} good={good ?? null} aside={aside} />
    </div>
  )
}

/** A password input that can be switched to show its text. */
export function PasswordField(props: ComponentProps<typeof Field>) {
  const [shown, setShown] = useState(false)
  return (
    <Field
      spellCheck={false}
      autoCapitalize="none"
      {...props}
      type={shown ? 'text' : 'password'}
      action={
        <button
          type="button"
          className="button button--plain button--small input-group__action"
          aria-label={`${shown ? 'Hide' : 'Show'} ${props.label.toLowerCase()}`}
          onClick={() => setShown(!shown)}
        >
          {shown ? 'Hide' : 'Show'}
        </button>
      }
    />
  )
}

type TextAreaProps = FieldText & TextareaHTMLAttributes<HTMLTextAreaElement> & { charactersLeft?: number }

/** A multi-line text input, with the number of characters left. */
export function TextArea({ label, optional, hint, error, charactersLeft, ...area }: TextAreaProps) {
  const id = useId()
  return (
    <div className="field">
      <FieldLabel htmlFor={id} label={label} optional={optional} />
      <textarea
        {...area}
        id={id}
        className="input"
        aria-invalid={error ? true : undefined}
        aria-describedby={`${id}-message`}
      />
      <FieldMessage
        id={`${id}-message`}
        hint={hint}
        error={error ?? null}
        aside={charactersLeft !== undefined && <span className="tabular">{charactersLeft}</span>}
      />
    </div>
  )
}

type SelectFieldProps<V extends string> = Omit<SelectHTMLAttributes<HTMLSelectElement>, 'onChange' | 'value'> & {
  label: string
  value: V
  options: ReadonlyArray<readonly [value: V, name: string]>
  onPick: (value: V) => void
}

export function SelectField<V extends string>({ label, value, options, onPick, ...select }: SelectFieldProps<V>) {
  const id = useId()
  return (
    <div className="field">
      <FieldLabel htmlFor={id} label={label} />
      <select {...select} id={id} className="input" value={value} onChange={(event) => onPick(event.target.value as V)}>
        {options.map(([option, name]) => (
          <option key={option} value={option}>
            {name}
          </option>
        ))}
      </select>
    </div>
  )
}
