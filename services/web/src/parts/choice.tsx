import { useId } from 'react'

type Props<V extends string> = {
  legend: string
  value: V
  options: ReadonlyArray<readonly [value: V, name: string, hint: string]>
  disabled?: boolean
  onPick: (value: V) => void
}

/** One of a few, each with a word on what it means. */
export function Choice<V extends string>({ legend, value, options, disabled = false, onPick }: Props<V>) {
  const name = useId()
  return (
    <fieldset className="choice" disabled={disabled}>
      <legend className="field__label">{legend}</legend>
      {options.map(([option, title, hint]) => (
        <label key={option} className="choice__option">
          <input type="radio" name={name} checked={value === option} onChange={() => onPick(option)} />
          <span>
            <span className="choice__title">{title}</span>
            <span className="quiet small">{hint}</span>
          </span>
        </label>
      ))}
    </fieldset>
  )
}
