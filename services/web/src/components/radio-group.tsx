import { useId } from 'react'

type Props<V extends string> = {
  legend: string
  value: V
  options: ReadonlyArray<readonly [value: V, label: string, hint: string]>
  disabled?: boolean
  onPick: (value: V) => void
}

/** A choice of one option, each with a hint. */
export function RadioGroup<V extends string>({ legend, value, options, disabled = false, onPick }: Props<V>) {
  const name = useId()
  return (
    <fieldset className="radio-group" disabled={disabled}>
      <legend className="field__label">{legend}</legend>
      {options.map(([option, label, hint]) => (
        <label key={option} className="radio-group__option">
          <input type="radio" name={name} checked={value === option} onChange={() => onPick(option)} />
          <span>
            <span className="radio-group__label">{label}</span>
            <span className="muted small">{hint}</span>
          </span>
        </label>
      ))}
    </fieldset>
  )
}
