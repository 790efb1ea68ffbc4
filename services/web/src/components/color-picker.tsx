import { avatarColors, type AvatarColor } from '@gatehouse/contracts/constants'
import { Icon } from './icon.tsx'
import { t } from '../language/language.ts'

/** The avatar colors as radio buttons, each with its name for screen readers. */
export function ColorPicker({ value, onPick }: { value: string | null; onPick: (color: AvatarColor) => void }) {
  return (
    <fieldset className="field">
      <legend className="field__label">{t('Avatar color')}</legend>
      <div className="swatches">
        {avatarColors.map((color) => (
          <label key={color} className="swatch" data-color={color} title={t(color)}>
            <input
              type="radio"
              name="avatar-color"
              id={`avatar-color-${color}`}
              value={color}
              aria-label={t(color)}
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
