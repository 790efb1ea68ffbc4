import { avatarColors, type AvatarColor, limits } from '@gatehouse/contracts/constants'
import { type ReactNode, useRef, useState } from 'react'
import { t } from '../language/language.ts'
import { Avatar, avatarStyle } from './avatar.tsx'
import { Button } from './button.tsx'
import { CropDialog } from './crop-dialog.tsx'
import { Field, FieldMessage } from './field.tsx'
import { Icon } from './icon.tsx'

const maxSize = `${limits.uploadBytes / 2 ** 20} MB`

type PicturePickerProps = {
  name: string
  label: string
  accept: string
  choose: string
  /** Null without a picture. */
  onRemove: (() => void) | null
  onFile: (file: File) => void
  hint: ReactNode
  error?: string | null
}

export function PicturePicker({ name, label, accept, choose, onRemove, onFile, hint, error }: PicturePickerProps) {
  const input = useRef<HTMLInputElement>(null)
  return (
    <>
      <input
        ref={input}
        id={name}
        name={name}
        className="visually-hidden"
        type="file"
        accept={accept}
        tabIndex={-1}
        aria-label={label}
        onChange={(event) => {
          const file = event.target.files?.[0]
          if (file) onFile(file)
          event.target.value = ''
        }}
      />
      <div className="button-row">
        <Button size="small" aria-describedby={`${name}-message`} onClick={() => input.current?.click()}>
          {choose}
        </Button>
        {onRemove && (
          <Button size="small" variant="plain" onClick={onRemove}>
            {t('Remove')}
          </Button>
        )}
      </div>
      <FieldMessage id={`${name}-message`} hint={hint} error={error} />
    </>
  )
}

type AvatarPickerProps = {
  name: string
  color: string | null
  src: string | null
  onPick: (image: Blob) => void
  onRemove: () => void
}

export function AvatarPicker({ name, color, src, onPick, onRemove }: AvatarPickerProps) {
  const [selected, setSelected] = useState<ImageBitmap | null>(null)
  const [problem, setProblem] = useState<string | null>(null)

  const open = async (file: File) => {
    setProblem(null)
    if (file.size > limits.uploadBytes) return setProblem(t('This picture is larger than {maxSize}.', { maxSize }))
    try {
      setSelected(await createImageBitmap(file))
    } catch {
      setProblem(t('This file could not be read as a picture.'))
    }
  }
  return (
    <div className="avatar-picker">
      <Avatar name={name} color={color} src={src} size="large" />
      <div className="avatar-picker__controls">
        <PicturePicker
          name="avatar-file"
          label={t('Avatar picture')}
          accept="image/png,image/jpeg,image/webp,image/gif,image/avif"
          choose={src ? t('Change picture') : t('Choose picture')}
          onRemove={src ? onRemove : null}
          onFile={(file) => void open(file)}
          hint={t('PNG, JPEG, WebP, GIF or AVIF, up to {maxSize}.', { maxSize })}
          error={problem}
        />
      </div>
      {selected && (
        <CropDialog
          picture={selected}
          onClose={() => setSelected(null)}
          onCrop={(cropped) => {
            setSelected(null)
            onPick(cropped)
          }}
        />
      )}
    </div>
  )
}

export function ColorPicker({ value, onPick }: { value: string | null; onPick: (color: AvatarColor) => void }) {
  return (
    <fieldset className="field">
      <legend className="field__label">{t('Avatar color')}</legend>
      <div className="swatches">
        {avatarColors.map((color) => (
          <label key={color} className="swatch" style={avatarStyle(color)} title={t(color)}>
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

export function AccentField({ value, onPick }: { value: string | null; onPick: (color: string | null) => void }) {
  return (
    <div className="field">
      <label className="field__label" htmlFor="accent-color">
        {t('Accent color')} <span className="field__optional">{t('(optional)')}</span>
      </label>
      <div className="accent-picker">
        <input
          id="accent-color"
          name="accent-color"
          type="color"
          value={value ?? '#0b6659'}
          onChange={(event) => onPick(event.target.value)}
        />
        {value ? <code>{value}</code> : <span className="muted">{t('none')}</span>}
        {value && (
          <Button size="small" variant="plain" onClick={() => onPick(null)}>
            {t('Remove')}
          </Button>
        )}
      </div>
    </div>
  )
}

type DisplayNameProps = { value: string; username: string; onText: (text: string) => void }

export function DisplayNameField({ username, ...field }: DisplayNameProps) {
  return (
    <Field
      {...field}
      label={t('Display name')}
      name="display-name"
      optional
      autoComplete="nickname"
      maxLength={limits.displayNameMax}
      hint={t('If empty, others see {username}.', { username })}
    />
  )
}
