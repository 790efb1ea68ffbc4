import '../styles/choices.css'
import { type ComponentProps, useId } from 'react'
import { t, type Text } from '../language/language.ts'

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

type CheckboxProps = Omit<ComponentProps<'input'>, 'onChange'> & {
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
