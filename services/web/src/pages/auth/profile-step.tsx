import { avatarColors, limits, type AvatarColor } from '@gatehouse/contracts/constants'
import { type SubmitEvent, useState } from 'react'
import { useAppContext } from '../../context.ts'
import { AvatarPicker } from '../../components/avatar-picker.tsx'
import { Button } from '../../components/button.tsx'
import { MutationError, submitLabel } from '../../components/error-message.tsx'
import { Field } from '../../components/field.tsx'
import { useImageFile } from '../../hooks/use-image-file.ts'
import type { Mutation } from '../../hooks/use-mutation.ts'
import { ColorPicker } from '../../components/color-picker.tsx'

export type ProfileEntry = { displayName: string | null; avatarColor: AvatarColor; avatar: Blob | null }

type Props = { username: string; mutation: Mutation; onBack: () => void; onSubmit: (profile: ProfileEntry) => void }

export function ProfileStep({ username, mutation, onBack, onSubmit }: Props) {
  const [displayName, setDisplayName] = useState('')
  const { random } = useAppContext()
  const [color, setColor] = useState(() => pickColor(random))
  const image = useImageFile()
  const submit = (event: SubmitEvent) => {
    event.preventDefault()
    onSubmit({ displayName: displayName.trim() || null, avatarColor: color, avatar: image.blob })
  }
  return (
    <form className="stack" noValidate onSubmit={submit}>
      <AvatarPicker
        name={displayName.trim() || username}
        color={color}
        src={image.src}
        onPick={image.set}
        onRemove={() => image.set(null)}
      />
      <ColorPicker value={color} onPick={setColor} />
      <Field
        label="Display name"
        optional
        autoComplete="nickname"
        maxLength={limits.displayNameMax}
        value={displayName}
        onChange={(event) => setDisplayName(event.target.value)}
        hint={`If empty, others see ${username}.`}
      />
      <MutationError mutation={mutation} />
      <div className="button-pair">
        <Button onClick={onBack} disabled={mutation.busy}>
          Back
        </Button>
        <Button type="submit" variant="primary" busy={mutation.busy} aria-disabled={mutation.waitSeconds > 0}>
          {submitLabel(mutation, 'Create account')}
        </Button>
      </div>
    </form>
  )
}

function pickColor(random: () => number): AvatarColor {
  return avatarColors[Math.floor(random() * avatarColors.length)] ?? 'mint'
}
