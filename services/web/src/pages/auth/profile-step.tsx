import { avatarColors, type AvatarColor } from '@gatehouse/client'
import { useState, type FormEvent } from 'react'
import type { Act } from '../../hooks/use-act.ts'
import { usePicture } from '../../hooks/use-picture.ts'
import { ActProblem, limitedLabel } from '../../parts/act-problem.tsx'
import { AvatarPicker } from '../../parts/avatar-picker.tsx'
import { Button } from '../../parts/button.tsx'
import { ColourSwatches } from '../../parts/colour-swatches.tsx'
import { Field } from '../../parts/field.tsx'

export type ProfileEntry = { displayName: string | null; avatarColor: AvatarColor; avatar: Blob | null }

type Props = { username: string; act: Act; onBack: () => void; onDone: (profile: ProfileEntry) => void }

export function ProfileStep({ username, act, onBack, onDone }: Props) {
  const [displayName, setDisplayName] = useState('')
  const [colour, setColour] = useState(randomColour)
  const picture = usePicture()
  const submit = (event: FormEvent) => {
    event.preventDefault()
    onDone({ displayName: displayName.trim() || null, avatarColor: colour, avatar: picture.blob })
  }
  return (
    <form className="stack" noValidate onSubmit={submit}>
      <AvatarPicker
        name={displayName.trim() || username}
        colour={colour}
        src={picture.src}
        onPick={picture.set}
        onRemove={() => picture.set(null)}
      />
      <ColourSwatches value={colour} onPick={setColour} />
      <Field
        label="Display name"
        optional
        autoComplete="nickname"
        maxLength={32}
        value={displayName}
        onChange={(event) => setDisplayName(event.target.value)}
        hint={`Without one, others see ${username}.`}
      />
      <ActProblem act={act} />
      <div className="two-buttons">
        <Button onClick={onBack} disabled={act.busy}>
          Back
        </Button>
        <Button type="submit" look="primary" busy={act.busy} aria-disabled={act.waitSeconds > 0}>
          {limitedLabel(act, 'Create account')}
        </Button>
      </div>
    </form>
  )
}

function randomColour(): AvatarColor {
  return avatarColors[Math.floor(Math.random() * avatarColors.length)] ?? 'mint'
}
