import type { User } from '@gatehouse/client'
import { limits } from '@gatehouse/contracts/constants'
import { useState } from 'react'
import { Dialog } from '../../components/dialog.tsx'
import { Field } from '../../components/field.tsx'
import { Notice } from '../../components/notice.tsx'
import { Switch } from '../../components/switch.tsx'
import { useToast } from '../../components/toaster.tsx'
import { useClient } from '../../context.ts'
import { useMutation } from '../../hooks/use-mutation.ts'
import { changedFields, useProfileDraft } from './profile-draft.ts'
import { ProfileFields } from './profile-fields.tsx'
import { Phrase } from '../../language/phrase.tsx'
import { t } from '../../language/language.ts'

/** Edits the profile. Name and pictures of a federated account are edited on its home instance. Contract: 3, PATCH. */
export function ProfileDialog({ user, onClose }: { user: User; onClose: () => void }) {
  const client = useClient()
  const draft = useProfileDraft(user)
  const mutation = useMutation()
  const showToast = useToast()
  const [submitted, setSubmitted] = useState(false)
  const { values, set } = draft
  const pictures = [draft.avatar.src, draft.banner.src].join()
  const [initial] = useState({ values, pictures })
  const isChanged = pictures !== initial.pictures || Object.keys(changedFields(initial.values, values)).length > 0

  const submit = async () => {
    setSubmitted(true)
    if (draft.problem) return
    const saved = await mutation.run(async (signal) => {
      await client.updateProfile(await draft.toChange(signal), { signal })
    })
    if (!saved) return
    showToast(t('Your profile was saved.'))
    onClose()
  }
  return (
    <Dialog
      title={t('Edit profile')}
      wide
      submit={t('Save')}
      mutation={mutation}
      changed={isChanged}
      onSubmit={submit}
      onClose={onClose}
    >
      {user.homeInstance ? (
        <Notice>
          <p>
            <Phrase
              text="Your name, pictures and colors are managed by your home instance, {host}. Change them there."
              values={{ host: <strong>{user.homeInstance}</strong> }}
            />
          </p>
        </Notice>
      ) : (
        <ProfileFields draft={draft} problem={submitted ? draft.problem : null} />
      )}
      <Field
        label={t('Status')}
        name="custom-status"
        autoComplete="off"
        optional
        maxLength={limits.customStatusMax}
        value={values.customStatus}
        onChange={(event) => set({ customStatus: event.target.value })}
        hint={t('A short text beside your name.')}
      />
      <Switch
        label={t('Show me in searches')}
        hint={t('Other users of this instance can find your account.')}
        on={values.discoverable}
        onChange={(discoverable) => set({ discoverable })}
      />
      <Switch
        label={t('Show my activity')}
        hint={t('Friends can see what you are doing.')}
        on={values.showActivity}
        onChange={(showActivity) => set({ showActivity })}
      />
    </Dialog>
  )
}
