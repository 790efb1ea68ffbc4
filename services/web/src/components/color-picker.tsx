import { avatarColors, type AvatarColor } from '@gatehouse/contracts/constants'
import { useId } from 'react'
import { Icon } from './icon.tsx'

/** The avatar colors as radio buttons, each with its name for screen readers. */
export function ColorPicker({ value, onPick }: { value: string | null; onPick: (color: AvatarColor) => void }) {
  const name = useId()
  return (
    <fieldset className="field">
      <legend className="field__label">Avatar color</legend>
      <div className="swatches">
        {avatarColors.map((color) => (
          <label key={color} className="swatch" data-color={color} title={color}>
            <input
              type="radio"
              name={name}
              value={color}
              aria-label={color}
              checked={value === color}
              onChange={() => onPick(color)}
            />
            <Icon name="check" />
          </label>
        ))}
      </div>
    </fieldset>
  )
}
