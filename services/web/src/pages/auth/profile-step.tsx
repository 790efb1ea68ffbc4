import type { AvatarColor } from '@gatehouse/contracts/constants'
import type { SubmitEvent } from 'react'
import { AvatarPicker, ColorPicker, DisplayNameField } from '../../components/appearance-fields.tsx'
import { Button } from '../../components/button.tsx'
import { MutationError, SubmitButton } from '../../components/error-message.tsx'
import type { ImageFile, Mutation } from '../../hooks.ts'
import { t } from '../../language/language.ts'

export type ProfileEntry = { displayName: string; avatarColor: AvatarColor }

type Props = {
  username: string
  entry: ProfileEntry
  image: ImageFile
  mutation: Mutation
  onChange: (entry: ProfileEntry) => void
  onBack: () => void
  onSubmit: () => void
}

/** The page keeps what was entered, for the way back and for a refusal. */
export function ProfileStep({ username, entry, image, mutation, onChange, onBack, onSubmit }: Props) {
  const { displayName, avatarColor } = entry
  const submit = (event: SubmitEvent) => {
    event.preventDefault()
    onSubmit()
  }
  return (
    <form className="stack" noValidate onSubmit={submit}>
      <AvatarPicker
        name={displayName.trim() || username}
        color={avatarColor}
        src={image.src}
        onPick={image.set}
        onRemove={() => image.set(null)}
      />
      <ColorPicker value={avatarColor} onPick={(color) => onChange({ ...entry, avatarColor: color })} />
      <DisplayNameField
        value={displayName}
        username={username}
        onText={(text) => onChange({ ...entry, displayName: text })}
      />
      <MutationError mutation={mutation} />
      <div className="button-pair">
        <Button onClick={onBack} disabled={mutation.busy}>
          {t('Back')}
        </Button>
        <SubmitButton mutation={mutation}>{t('Create account')}</SubmitButton>
      </div>
    </form>
  )
}
