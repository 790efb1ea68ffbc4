import { t, type Text } from '../language/language.ts'

type Props<V extends string> = {
  legend: string
  name: string
  value: V
  options: ReadonlyArray<readonly [value: V, label: Text, hint: Text]>
  disabled?: boolean
  onPick: (value: V) => void
}

/** A choice of one option, each with a hint. */
export function RadioGroup<V extends string>({ legend, name, value, options, disabled = false, onPick }: Props<V>) {
  return (
    <fieldset className="radio-group" disabled={disabled}>
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
