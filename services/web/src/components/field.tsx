import { countCodePoints } from '@gatehouse/contracts/constants'
import type { ComponentProps, ReactNode, SubmitEvent, SyntheticEvent } from 'react'
import { createContext, use, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react'
import type { Mutation } from '../hooks.ts'
import { t } from '../language/language.ts'
import { Button } from './button.tsx'

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

/** The last submit of the form around, or null. */
const SubmitContext = createContext<SubmitEvent | null>(null)

/** Whether the form was submitted since the field of that name is there. */
function useIsSubmitted(name: string): boolean {
  const lastSubmit = use(SubmitContext)
  const before = useMemo(() => lastSubmit, [name])
  return lastSubmit !== null && lastSubmit !== before
}

type FormProps = Omit<ComponentProps<'form'>, 'onSubmit'> & {
  /** Called when no field is in the way. Else the first that is takes the focus. True: the form is as before its first submit. */
  onSubmit: () => unknown
}

export function Form({ onSubmit, ...form }: FormProps) {
  const [lastSubmit, setLastSubmit] = useState<SubmitEvent | null>(null)
  const newestOnSubmit = useRef(onSubmit)
  newestOnSubmit.current = onSubmit
  const submit = async (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault()
    // A dialog can stand in a form.
    event.stopPropagation()
    setLastSubmit(event)
    const { currentTarget } = event
    // A part filled into an empty date causes no event. This causes one.
    currentTarget.checkValidity()
    if (readFilled(currentTarget)) await nextRender()
    const wrong = currentTarget.querySelector<HTMLElement>('[data-problem], input:invalid')
    if (wrong) wrong.focus()
    else if ((await newestOnSubmit.current()) === true) setLastSubmit(null)
  }
  return (
    <SubmitContext value={lastSubmit}>
      <form noValidate {...form} onSubmit={(event) => void submit(event)} />
    </SubmitContext>
  )
}

/** What each field shows, as far as its component knows. */
const shownValues = new WeakMap<Element, string>()

/** A password manager may fill a field without an event: what the form holds counts. Returns whether a field had other text. */
function readFilled(form: HTMLFormElement): boolean {
  const filled = [...form.elements].filter((field): field is HTMLInputElement => {
    const shown = shownValues.get(field)
    return shown !== undefined && shown !== (field as HTMLInputElement).value
  })
  filled.forEach(tellInput)
  return filled.length > 0
}

const tellInput = (field: HTMLElement) => field.dispatchEvent(new Event('input', { bubbles: true }))
const nextRender = () => new Promise((resolve) => setTimeout(resolve))

/** A render would take back what was filled in without an event: it is told once, and stays. */
function useFilledText(value: string) {
  const field = useRef<HTMLInputElement>(null)
  const lastText = useRef<string>(undefined)
  const text = field.current?.value ?? value
  const isFilled = field.current !== null && shownValues.get(field.current) === value && text !== value
  useLayoutEffect(() => {
    if (!field.current) return
    shownValues.set(field.current, value)
    if (!isFilled || lastText.current === text) return
    lastText.current = text
    tellInput(field.current)
  })
  return { ref: field, value: isFilled ? text : value }
}

/** What a field shows and takes. Typing clears the error of the mutation. */
export function useText(initial = '', mutation?: Mutation) {
  const [value, setValue] = useState(initial)
  const onText = (text: string) => {
    setValue(text)
    mutation?.clear()
  }
  return { value, onText }
}

/**
 * A date of which a part is missing reads as an empty one. It is a fault of the field, and `onText` is not called for it.
 * Browsers have no event for a change between a part and nothing.
 */
function usePartialInput(value: ComponentProps<'input'>['value'], onText: (text: string) => void) {
  const [isPartial, setPartial] = useState(false)
  useEffect(() => setPartial(false), [value])
  const read = ({ currentTarget: { value: text, validity } }: SyntheticEvent<HTMLInputElement>) => {
    setPartial(validity.badInput)
    if (!validity.badInput) onText(text)
  }
  const readWhilePartial = isPartial ? read : undefined
  const readLeft = (event: SyntheticEvent<HTMLInputElement>) => {
    if (isPartial || event.currentTarget.validity.badInput) read(event)
  }
  return {
    isPartial,
    input: {
      value: isPartial ? '' : value,
      onChange: read,
      onInvalid: read,
      onKeyUp: readWhilePartial,
      onBlur: readLeft,
    },
  }
}

type FieldProps = LabelledProps &
  Omit<ComponentProps<'input'>, 'id' | 'onChange'> & {
    onText: (text: string) => void
    /** Stands in the way of a submit, and is shown from then on. */
    problem?: string | false | null | undefined
    /** Several lines. */
    isLong?: boolean | undefined
    /** The browser corrects nothing. */
    verbatim?: boolean
    action?: ReactNode
  }

/** The browser completes nothing, unless `autoComplete` says what. `maxLength` counts as the server does. */
export function Field(props: FieldProps) {
  const { label, optional, hint, good, aside, name, problem, isLong, verbatim, action, onText, ...others } = props
  const { error: refusal, maxLength = Infinity, ...input } = others
  const { isPartial, input: partial } = usePartialInput(input.value, onText)
  const filled = useFilledText(String(partial.value ?? ''))
  const isTooLong = countCodePoints(String(input.value).trim()) > maxLength
  const tooLong = isTooLong && t('Use at most {count} characters.', { count: maxLength })
  const isSubmitted = useIsSubmitted(name)
  const error = tooLong || (isPartial && t('This date is incomplete.')) || (isSubmitted && problem) || refusal
  // Both take the same properties here.
  const Control = (isLong ? 'textarea' : 'input') as 'input'
  const control = (
    <Control
      autoComplete="off"
      {...(verbatim && { autoCapitalize: 'none', spellCheck: false })}
      {...controlOf(name, error)}
      {...input}
      {...partial}
      {...filled}
      data-problem={problem || isTooLong || isPartial ? true : undefined}
    />
  )
  return (
    <Labelled label={label} name={name} optional={optional} hint={hint} error={error} good={good} aside={aside}>
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

export function CodeField(props: Partial<FieldProps> & ReturnType<typeof useText>) {
  return <Field verbatim label={t('Authentication code')} name="code" autoComplete="one-time-code" {...props} />
}

export function PasswordField(props: FieldProps) {
  const [shown, setShown] = useState(false)
  return (
    <Field
      verbatim
      {...props}
      type={shown ? 'text' : 'password'}
      action={
        <Button
          variant="plain"
          size="small"
          className="input-group__action"
          aria-label={shown ? t('Hide {label}', { label: props.label }) : t('Show {label}', { label: props.label })}
          text={shown ? 'Hide' : 'Show'}
          onClick={() => setShown(!shown)}
        />
      }
    />
  )
}
