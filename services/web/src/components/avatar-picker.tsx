import { limits } from '@gatehouse/contracts/constants'
import { useId, useRef, useState } from 'react'
import { Avatar } from './avatar.tsx'
import { Button } from './button.tsx'
import { CropDialog } from './crop-dialog.tsx'
import { FieldMessage } from './field.tsx'
import { t } from '../language/language.ts'

const acceptedTypes = 'image/png,image/jpeg,image/webp,image/gif,image/avif'
const maxSize = `${limits.uploadBytes / 2 ** 20} MB`

type Props = {
  name: string
  color: string | null
  src: string | null
  onPick: (image: Blob) => void
  onRemove: () => void
  error?: string | null
}

/** The avatar with buttons to select, crop and remove a picture. */
export function AvatarPicker({ name, color, src, onPick, onRemove, error = null }: Props) {
  const input = useRef<HTMLInputElement>(null)
  const id = useId()
  const [selected, setSelected] = useState<ImageBitmap | null>(null)
  const [problem, setProblem] = useState<string | null>(null)

  const open = async (file: File | undefined) => {
    setProblem(null)
    if (!file) return
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
        <input
          ref={input}
          id="avatar-file"
          name="avatar-file"
          className="visually-hidden"
          type="file"
          accept={acceptedTypes}
          tabIndex={-1}
          aria-label={t('Avatar picture')}
          onChange={(event) => {
            void open(event.target.files?.[0])
            event.target.value = ''
          }}
        />
        <div className="button-row">
          <Button size="small" aria-describedby={`${id}-message`} onClick={() => input.current?.click()}>
            {src ? t('Change picture') : t('Choose picture')}
          </Button>
          {src && (
            <Button size="small" variant="plain" onClick={onRemove}>
              {t('Remove')}
            </Button>
          )}
        </div>
        <FieldMessage
          id={`${id}-message`}
          hint={t('PNG, JPEG, WebP, GIF or AVIF, up to {maxSize}.', { maxSize })}
          error={problem ?? error}
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
