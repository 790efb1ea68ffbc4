import { limits, type AvatarColor } from '@gatehouse/contracts/constants'
import type { SubmitEvent } from 'react'
import { AvatarPicker } from '../../components/avatar-picker.tsx'
import { Button } from '../../components/button.tsx'
import { MutationError, submitLabel } from '../../components/error-message.tsx'
import { Field } from '../../components/field.tsx'
import type { ImageFile } from '../../hooks/use-image-file.ts'
import type { Mutation } from '../../hooks/use-mutation.ts'
import { ColorPicker } from '../../components/color-picker.tsx'
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

/** The second step. The page keeps what was entered, so that it survives the way back and a refusal. */
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
      <Field
        label={t('Display name')}
        name="display-name"
        optional
        autoComplete="nickname"
        maxLength={limits.displayNameMax}
        value={displayName}
        onChange={(event) => onChange({ ...entry, displayName: event.target.value })}
        hint={t('If empty, others see {username}.', { username })}
      />
      <MutationError mutation={mutation} />
      <div className="button-pair">
        <Button onClick={onBack} disabled={mutation.busy}>
          {t('Back')}
        </Button>
        <Button type="submit" variant="primary" busy={mutation.busy} aria-disabled={mutation.waitSeconds > 0}>
          {submitLabel(mutation, t('Create account'))}
        </Button>
      </div>
    </form>
  )
}
