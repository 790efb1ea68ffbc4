import { useId, useRef, useState } from 'react'
import { Avatar } from './avatar.tsx'
import { Button } from './button.tsx'
import { CropDialog } from './crop-dialog.tsx'
import { FieldLine } from './field.tsx'

const accepted = 'image/png,image/jpeg,image/webp,image/gif,image/avif'
const maxBytes = 8 * 1024 * 1024

type Props = {
  name: string
  colour: string | null
  src: string | null
  onPick: (picture: Blob) => void
  onRemove: () => void
  error?: string | null
}

/** The avatar with buttons to choose, frame and remove a picture. */
export function AvatarPicker({ name, colour, src, onPick, onRemove, error = null }: Props) {
  const input = useRef<HTMLInputElement>(null)
  const id = useId()
  const [picture, setPicture] = useState<ImageBitmap | null>(null)
  const [problem, setProblem] = useState<string | null>(null)

  const open = async (file: File | undefined) => {
    setProblem(null)
    if (!file) return
    if (file.size > maxBytes) return setProblem('This picture is larger than 8 MB.')
    try {
      setPicture(await createImageBitmap(file))
    } catch {
      setProblem('This file could not be read as a picture.')
    }
  }

  return (
    <div className="avatar-picker">
      <Avatar name={name} colour={colour} src={src} size="large" />
      <div className="avatar-picker__side">
        <input
          ref={input}
          id={id}
          className="visually-hidden"
          type="file"
          accept={accepted}
          tabIndex={-1}
          aria-label="Avatar picture"
          onChange={(event) => {
            void open(event.target.files?.[0])
            event.target.value = ''
          }}
        />
        <div className="button-row">
          <Button size="small" aria-describedby={`${id}-line`} onClick={() => input.current?.click()}>
            {src ? 'Change picture' : 'Choose a picture'}
          </Button>
          {src && (
            <Button size="small" look="plain" onClick={onRemove}>
              Remove
            </Button>
          )}
        </div>
        <FieldLine
          id={`${id}-line`}
          label=""
          hint="PNG, JPEG, WebP, GIF or AVIF, up to 8 MB."
          error={problem ?? error}
        />
      </div>
      {picture && (
        <CropDialog
          picture={picture}
          onClose={() => setPicture(null)}
          onCrop={(cropped) => {
            setPicture(null)
            onPick(cropped)
          }}
        />
      )}
    </div>
  )
}
