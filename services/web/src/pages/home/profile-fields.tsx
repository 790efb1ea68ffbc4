import { limits } from '@gatehouse/contracts/constants'
import { useId, useRef } from 'react'
import { AvatarPicker } from '../../components/avatar-picker.tsx'
import { Button } from '../../components/button.tsx'
import { Field, FieldMessage, TextArea } from '../../components/field.tsx'
import { ColorPicker } from '../../components/color-picker.tsx'
import type { ProfileDraft } from './profile-draft.ts'
import { t } from '../../language/language.ts'

/** The fields of the profile dialog that federated accounts do not have. */
export function ProfileFields({ draft, problem }: { draft: ProfileDraft; problem: string | null }) {
  const { values, set, avatar } = draft
  return (
    <>
      <AvatarPicker
        name={values.displayName.trim() || draft.username}
        color={values.avatarColor}
        src={avatar.src}
        onPick={avatar.pick}
        onRemove={avatar.remove}
      />
      <div className="two-columns">
        <ColorPicker value={values.avatarColor} onPick={(avatarColor) => set({ avatarColor })} />
        <AccentField value={values.accentColor} onPick={(accentColor) => set({ accentColor })} />
      </div>
      <BannerField banner={draft.banner} />
      <Field
        label={t('Display name')}
        name="display-name"
        optional
        autoComplete="nickname"
        maxLength={limits.displayNameMax}
        value={values.displayName}
        onChange={(event) => set({ displayName: event.target.value })}
        hint={t('If empty, others see {username}.', { username: draft.username })}
      />
      <TextArea
        label={t('About you')}
        name="bio"
        optional
        value={values.bio}
        onChange={(event) => set({ bio: event.target.value })}
        charactersLeft={limits.bioMax - [...values.bio].length}
        error={problem}
      />
    </>
  )
}

function AccentField({ value, onPick }: { value: string | null; onPick: (color: string | null) => void }) {
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
        {value && (
          <Button size="small" variant="plain" onClick={() => onPick(null)}>
            {t('Remove')}
          </Button>
        )}
      </div>
    </div>
  )
}

function BannerField({ banner }: { banner: ProfileDraft['banner'] }) {
  const input = useRef<HTMLInputElement>(null)
  const id = useId()
  return (
    <div className="field">
      <span className="field__label">
        {t('Banner')} <span className="field__optional">{t('(optional)')}</span>
      </span>
      <div className="banner-picker">
        {banner.src && <img src={banner.src} alt="" />}
        <input
          ref={input}
          className="visually-hidden"
          name="banner-file"
          id="banner-file"
          type="file"
          accept="image/*"
          tabIndex={-1}
          aria-label={t('Banner picture')}
          onChange={(event) => {
            const file = event.target.files?.[0]
            if (file) banner.pick(file)
            event.target.value = ''
          }}
        />
        <div className="button-row">
          <Button size="small" aria-describedby={`${id}-message`} onClick={() => input.current?.click()}>
            {banner.src ? t('Change banner') : t('Choose banner')}
          </Button>
          {banner.src && (
            <Button size="small" variant="plain" onClick={banner.remove}>
              {t('Remove')}
            </Button>
          )}
        </div>
      </div>
      <FieldMessage id={`${id}-message`} hint={t('A wide picture behind your avatar.')} />
    </div>
  )
}
