import type { User } from '@gatehouse/client'
import { limits } from '@gatehouse/contracts/constants'
import { useState } from 'react'
import { ConfirmDialog } from '../../components/dialog.tsx'
import { Field, Switch } from '../../components/field.tsx'
import { Notice } from '../../components/status.tsx'
import { useClient } from '../../hooks.ts'
import { t } from '../../language/language.ts'
import { Phrase } from '../../language/phrase.tsx'
import { changedFields, useProfileDraft, valuesOf } from './profile-draft.ts'
import { ProfileFields } from './profile-fields.tsx'

/** Name and pictures of a federated account are edited at its home. Contract: 3, PATCH. */
export function ProfileDialog({ user, onClose }: { user: User; onClose: () => void }) {
  const client = useClient()
  const draft = useProfileDraft(user)
  const [submitted, setSubmitted] = useState(false)
  const { values, set } = draft
  const pictures = [draft.avatar.src, draft.banner.src].join()
  const [initial] = useState({
    values: valuesOf(user),
    pictures: [user.avatar, user.banner].map(client.uploadUrl).join(),
  })
  const isChanged = pictures !== initial.pictures || Object.keys(changedFields(initial.values, values)).length > 0

  const check = () => {
    setSubmitted(true)
    return !draft.problem
  }
  return (
    <ConfirmDialog
      title={t('Edit profile')}
      wide
      submit={t('Save')}
      changed={isChanged}
      kept
      check={check}
      act={async (signal) => client.updateProfile(await draft.toChange(signal), { signal })}
      done={t('Your profile was saved.')}
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
        onText={(customStatus) => set({ customStatus })}
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
    </ConfirmDialog>
  )
}
