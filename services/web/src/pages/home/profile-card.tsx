import type { User } from '@gatehouse/client'
import { countCodePoints, profileFields } from '@gatehouse/contracts/constants'
import { useState } from 'react'
import {
  AccentField,
  AvatarPicker,
  ColorPicker,
  DisplayNameField,
  PicturePicker,
} from '../../components/appearance-fields.tsx'
import { displayNameOf, UserAvatar, UserName } from '../../components/avatar.tsx'
import { Button } from '../../components/button.tsx'
import { ConfirmDialog } from '../../components/dialog.tsx'
import { Switch } from '../../components/choices.tsx'
import { Field } from '../../components/field.tsx'
import { formatDate } from '../../components/format.ts'
import { Badge, Notice, StatusDot } from '../../components/status.tsx'
import { useClient, useStore } from '../../hooks.ts'
import { useKeptState } from '../../kept-state.ts'
import { formatName, t } from '../../language/language.ts'
import { Phrase } from '../../language/phrase.tsx'
import { type ProfileDraft, useProfileDraft } from './profile-draft.ts'

export function ProfileCard({ user }: { user: User }) {
  const { live, uploadUrl } = useClient()
  const [editing, setEditing] = useKeptState(`editing ${user.id}`, false)
  const isOnline = useStore(live).phase === 'ready'
  const banner = uploadUrl(user.banner)
  return (
    <section className="card profile" aria-label={t('Profile')}>
      <div className="profile__banner" style={user.accentColor ? { backgroundColor: user.accentColor } : {}}>
        {banner && <img src={banner} alt="" />}
      </div>
      <div className="profile__top">
        <UserAvatar user={user} size="large" />
        <Button size="small" icon="pencil" text="Edit profile" onClick={() => setEditing(true)} />
      </div>
      <div className="stack stack--tight">
        <h2 className="profile__name">
          <UserName>{displayNameOf(user)}</UserName>
        </h2>
        <p className="muted">
          <UserName>{`@${user.username}`}</UserName> {user.isAdmin && <Badge tone="warning">{t('Admin')}</Badge>}
        </p>
        <p className="profile__presence">
          <StatusDot on={isOnline} />
          {isOnline ? t('Online') : t('Offline')}
          {user.customStatus && (
            <span className="muted">
              · <bdi>{formatName(user.customStatus)}</bdi>
            </span>
          )}
        </p>
        {user.bio && (
          <p className="profile__bio">
            <bdi>{formatName(user.bio)}</bdi>
          </p>
        )}
        <p className="small muted">{t('Member since {date}', { date: formatDate(user.createdAt) })}</p>
      </div>
      {editing && <ProfileDialog user={user} onClose={() => setEditing(false)} />}
    </section>
  )
}

/** Name and pictures of a federated account are edited at its home. Contract: 3, PATCH. */
function ProfileDialog({ user, onClose }: { user: User; onClose: () => void }) {
  const client = useClient()
  const draft = useProfileDraft(user)
  const { values, set } = draft
  const pictures = [draft.avatar.src, draft.banner.src].join()
  const [initialPictures] = useState([user.avatar, user.banner].map(client.uploadUrl).join())
  return (
    <ConfirmDialog
      dialog="ProfileDialog"
      title={t('Edit profile')}
      wide
      submit={t('Save')}
      changed={draft.isChanged || pictures !== initialPictures}
      kept
      act={async (signal) => client.updateProfile(await draft.toChange(signal), { signal })}
      done={t('Profile saved.')}
      onClose={onClose}
    >
      {user.homeInstance ? (
        <Notice>
          <p>
            <Phrase
              text="Your name, images and colors are managed by your home instance. Change them on {host}."
              values={{ host: <strong>{user.homeInstance}</strong> }}
            />
          </p>
        </Notice>
      ) : (
        <ProfileFields draft={draft} />
      )}
      <Field
        label={t('Status')}
        name="custom-status"
        optional
        maxLength={profileFields.customStatus.max}
        value={values.customStatus}
        onText={(customStatus) => set({ customStatus })}
        hint={t('Shown next to your name.')}
      />
      <Switch
        label={t('Appear in search')}
        hint={t('Let other people on this instance find you.')}
        on={values.discoverable}
        onChange={(discoverable) => set({ discoverable })}
      />
      <Switch
        label={t('Show my activity')}
        hint={t('Let friends see what you’re doing.')}
        on={values.showActivity}
        onChange={(showActivity) => set({ showActivity })}
      />
    </ConfirmDialog>
  )
}

function ProfileFields({ draft }: { draft: ProfileDraft }) {
  const { values, set, avatar, banner } = draft
  return (
    <>
      <AvatarPicker name={values.displayName.trim() || draft.username} color={values.avatarColor} {...avatar} />
      <div className="two-columns">
        <ColorPicker value={values.avatarColor} onPick={(avatarColor) => set({ avatarColor })} />
        <AccentField value={values.accentColor} onPick={(accentColor) => set({ accentColor })} />
      </div>
      <div className="field">
        <span className="field__label">
          {t('Banner')} <span className="field__optional">{t('(optional)')}</span>
        </span>
        <div className="banner-picker">
          {banner.src && <img src={banner.src} alt="" />}
          <PicturePicker
            name="banner-file"
            label={t('Banner')}
            accept="image/*"
            choose={banner.src ? 'Change banner' : 'Choose banner'}
            onRemove={banner.src ? banner.onRemove : null}
            onFile={(blob) => banner.onPick({ blob, crop: null })}
            hint={t('A wide image shown behind your avatar.')}
          />
        </div>
      </div>
      <DisplayNameField
        value={values.displayName}
        username={draft.username}
        onText={(displayName) => set({ displayName })}
      />
      <Field
        isLong
        label={t('Bio')}
        name="bio"
        optional
        value={values.bio}
        onText={(bio) => set({ bio })}
        maxLength={profileFields.bio.max}
        aside={<span className="tabular">{profileFields.bio.max - countCodePoints(values.bio.trim())}</span>}
      />
    </>
  )
}
