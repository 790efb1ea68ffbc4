import {
  type ComponentProps,
  type InputHTMLAttributes,
  type ReactNode,
  type Ref,
  type SelectHTMLAttributes,
  type TextareaHTMLAttributes,
  useState,
} from 'react'
import { t } from '../language/language.ts'

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
      {optional && <span className="field__optional"> {t('(optional)')}</span>}
    </label>
  )
}

/** Every input has a name, which is its id too: password managers go by both. */
type Named = { name: string }

type FieldProps = FieldText &
  Omit<InputHTMLAttributes<HTMLInputElement>, 'id'> &
  Named & { inputRef?: Ref<HTMLInputElement>; action?: ReactNode; aside?: ReactNode }

/** A text input with label, hint and error. */
export function Field({ label, optional, hint, error, good, inputRef, action, aside, ...input }: FieldProps) {
  const id = input.name
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
          aria-label={shown ? t('Hide {label}', { label: props.label }) : t('Show {label}', { label: props.label })}
          onClick={() => setShown(!shown)}
        >
          {shown ? t('Hide') : t('Show')}
        </button>
      }
    />
  )
}

type TextAreaProps = FieldText & TextareaHTMLAttributes<HTMLTextAreaElement> & Named & { charactersLeft?: number }

/** A multi-line text input, with the number of characters left. */
export function TextArea({ label, optional, hint, error, charactersLeft, ...area }: TextAreaProps) {
  const id = area.name
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

type SelectFieldProps<V extends string> = Omit<SelectHTMLAttributes<HTMLSelectElement>, 'onChange' | 'value'> &
  Named & {
    label: string
    value: V
    options: ReadonlyArray<readonly [value: V, name: string]>
    onPick: (value: V) => void
  }

export function SelectField<V extends string>({ label, value, options, onPick, ...select }: SelectFieldProps<V>) {
  const id = select.name
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
