import { useId, type SelectHTMLAttributes } from 'react'
import { FieldLabel } from './field.tsx'

type Props<V extends string> = Omit<SelectHTMLAttributes<HTMLSelectElement>, 'onChange' | 'value'> & {
  label: string
  value: V
  options: ReadonlyArray<readonly [value: V, name: string]>
  onPick: (value: V) => void
}

export function SelectField<V extends string>({ label, value, options, onPick, ...select }: Props<V>) {
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
