import { avatarColors, type AvatarColor, limits } from '@gatehouse/contracts/constants'
import { type ComponentProps, type ReactNode, useRef, useState } from 'react'
import { t, type Text } from '../language/language.ts'
import { Avatar, avatarStyle } from './avatar.tsx'
import { Button } from './button.tsx'
import { CropDialog } from './crop-dialog.tsx'
import { Field, FieldMessage } from './field.tsx'
import { Icon } from './icon.tsx'
import type { Picture } from '../kept-state.ts'

const maxSize = `${limits.uploadBytes / 2 ** 20} MB`

type PicturePickerProps = {
  name: string
  label: string
  accept?: string
  choose: Text
  /** Null without a picture. */
  onRemove: (() => void) | null
  onFile: (file: File) => void
  hint: ReactNode
  error?: string | null
}

const pictureTypes = 'image/png,image/jpeg,image/webp,image/gif,image/avif'

export function PicturePicker({ name, label, accept = pictureTypes, choose, onRemove, ...props }: PicturePickerProps) {
  const input = useRef<HTMLInputElement>(null)
  const messageId = `${name}-message`
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
          if (file) props.onFile(file)
          event.target.value = ''
        }}
      />
      <div className="button-row">
        <Button size="small" aria-describedby={messageId} text={choose} onClick={() => input.current?.click()} />
        {onRemove && <Button size="small" variant="plain" text="Remove" onClick={onRemove} />}
      </div>
      <FieldMessage id={messageId} hint={props.hint} error={props.error} />
    </>
  )
}

type AvatarPickerProps = ComponentProps<typeof Avatar> & { onPick: (picture: Picture) => void; onRemove: () => void }

export function AvatarPicker({ name, color, src, onPick, onRemove }: AvatarPickerProps) {
  const [selected, setSelected] = useState<{ file: File; bitmap: ImageBitmap } | null>(null)
  const [problem, setProblem] = useState<string | null>(null)

  const open = async (file: File) => {
    setProblem(null)
    if (file.size > limits.uploadBytes) return setProblem(t('This image is larger than {maxSize}.', { maxSize }))
    try {
      setSelected({ file, bitmap: await createImageBitmap(file) })
    } catch {
      setProblem(t('This file isn’t an image we can read.'))
    }
  }
  return (
    <div className="avatar-picker">
      <Avatar name={name} color={color} src={src} size="large" />
      <div className="avatar-picker__controls">
        <PicturePicker
          name="avatar-file"
          label={t('Avatar')}
          choose={src ? 'Change image' : 'Choose image'}
          onRemove={src ? onRemove : null}
          onFile={(file) => void open(file)}
          hint={t('PNG, JPEG, WebP, GIF or AVIF, up to {maxSize}.', { maxSize })}
          error={problem}
        />
      </div>
      {selected && (
        <CropDialog
          picture={selected.bitmap}
          file={selected.file}
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
        {value && <Button size="small" variant="plain" text="Remove" onClick={() => onPick(null)} />}
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
      hint={t('If you leave this empty, people see {username}.', { username })}
    />
  )
}
