import { avatarColors, type AvatarColor } from '@gatehouse/client'
import { useId } from 'react'
import { Icon } from './icon.tsx'

/** The seven avatar colours as radio buttons: arrows move, the name is spoken. */
export function ColourSwatches({ value, onPick }: { value: string | null; onPick: (colour: AvatarColor) => void }) {
  const name = useId()
  return (
    <fieldset className="field">
      <legend className="field__label">Avatar colour</legend>
      <div className="swatches">
        {avatarColors.map((colour) => (
          <label key={colour} className="swatch" data-colour={colour} title={colour}>
            <input
              type="radio"
              name={name}
              value={colour}
              aria-label={colour}
              checked={value === colour}
              onChange={() => onPick(colour)}
            />
            <Icon name="check" />
          </label>
        ))}
      </div>
    </fieldset>
  )
}
