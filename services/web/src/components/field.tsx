import { type InputHTMLAttributes, type ReactNode, type TextareaHTMLAttributes, useId, useState } from 'react'
import { t, type Text } from '../language/language.ts'

type FieldMessageProps = {
  id: string
  hint?: ReactNode
  error?: string | null | undefined
  good?: string | null | undefined
  aside?: ReactNode
}

/** The line is there without a text too, so that the layout does not shift. */
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

/** The name is the id too: password managers read both. */
type LabelledProps = Omit<FieldMessageProps, 'id'> & { label: string; name: string; optional?: boolean | undefined }

export function Labelled({ label, name, optional, children, ...message }: LabelledProps & { children: ReactNode }) {
  return (
    <div className="field">
      <label className="field__label" htmlFor={name}>
        {label}
        {optional && <span className="field__optional"> {t('(optional)')}</span>}
      </label>
      {children}
      <FieldMessage id={`${name}-message`} {...message} />
    </div>
  )
}

export const controlOf = (name: string, error?: string | null) => ({
  name,
  id: name,
  className: 'input',
  'aria-invalid': error ? true : undefined,
  'aria-describedby': `${name}-message`,
})

export const findField = (form: Element | null, name: string) => form?.querySelector<HTMLInputElement>(`[name=${name}]`)

type TextProps = LabelledProps & { onText: (text: string) => void }

type FieldProps = TextProps &
  Omit<InputHTMLAttributes<HTMLInputElement>, 'id' | 'onChange'> & {
    /** The browser corrects nothing. */
    verbatim?: boolean
    action?: ReactNode
  }

/** The browser completes nothing, unless `autoComplete` says what. */
export function Field(props: FieldProps) {
  const { label, optional, hint, error, good, aside, name, verbatim, action, onText, ...input } = props
  const control = (
    <input
      autoComplete="off"
      {...(verbatim && { autoCapitalize: 'none', spellCheck: false })}
      {...controlOf(name, error)}
      {...input}
      onChange={(event) => onText(event.target.value)}
    />
  )
  return (
    <Labelled {...{ label, name, optional, hint, error, good, aside }}>
      {action ? (
        <div className="input-group">
          {control}
          {action}
        </div>
      ) : (
        control
      )}
    </Labelled>
  )
}

export function PasswordField(props: FieldProps) {
  const [shown, setShown] = useState(false)
  return (
    <Field
      verbatim
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

type TextAreaProps = TextProps & Omit<TextareaHTMLAttributes<HTMLTextAreaElement>, 'onChange'>

export function TextArea({ label, optional, hint, error, aside, name, onText, ...area }: TextAreaProps) {
  return (
    <Labelled {...{ label, name, optional, hint, error, aside }}>
      <textarea {...controlOf(name, error)} {...area} onChange={(event) => onText(event.target.value)} />
    </Labelled>
  )
}

type RadioGroupProps<V extends string> = {
  legend: string
  name: string
  value: V
  options: ReadonlyArray<readonly [value: V, label: Text, hint: Text]>
  onPick: (value: V) => void
}

export function RadioGroup<V extends string>({ legend, name, value, options, onPick }: RadioGroupProps<V>) {
  return (
    <fieldset className="radio-group">
      <legend className="field__label">{legend}</legend>
      {options.map(([option, label, hint]) => (
        <label key={option} className="radio-group__option">
          <input
            type="radio"
            name={name}
            id={`${name}-${option}`}
            value={option}
            checked={value === option}
            onChange={() => onPick(option)}
          />
          <span>
            <span className="radio-group__label">{t(label)}</span>
            <span className="muted small">{t(hint)}</span>
          </span>
        </label>
      ))}
    </fieldset>
  )
}

type SwitchProps = { label: string; hint: string; on: boolean; onChange: (on: boolean) => void }

export function Switch({ label, hint, on, onChange }: SwitchProps) {
  const id = useId()
  return (
    <button
      type="button"
      role="switch"
      className="switch"
      aria-checked={on}
      aria-labelledby={`${id}-name`}
      aria-describedby={`${id}-hint`}
      onClick={() => onChange(!on)}
    >
      <span id={`${id}-name`} className="switch__name">
        {label}
      </span>
      <span id={`${id}-hint`} className="switch__hint">
        {hint}
      </span>
      <span className="switch__track" aria-hidden="true" />
    </button>
  )
}

type CheckboxProps = Omit<InputHTMLAttributes<HTMLInputElement>, 'onChange'> & {
  label?: string
  name: string
  onChange: (checked: boolean) => void
}

export function Checkbox({ label, onChange, ...input }: CheckboxProps) {
  return (
    <label className="checkbox">
      <input type="checkbox" id={input.name} {...input} onChange={(event) => onChange(event.target.checked)} />
      {label}
    </label>
  )
}
