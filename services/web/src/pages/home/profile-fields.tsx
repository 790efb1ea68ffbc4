import { limits } from '@gatehouse/contracts/constants'
import {
  AccentField,
  AvatarPicker,
  ColorPicker,
  DisplayNameField,
  PicturePicker,
} from '../../components/appearance-fields.tsx'
import { TextArea } from '../../components/field.tsx'
import { t } from '../../language/language.ts'
import type { ProfileDraft } from './profile-draft.ts'

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
      <DisplayNameField
        value={values.displayName}
        username={draft.username}
        onText={(displayName) => set({ displayName })}
      />
      <TextArea
        label={t('About you')}
        name="bio"
        optional
        value={values.bio}
        onText={(bio) => set({ bio })}
        aside={<span className="tabular">{limits.bioMax - [...values.bio].length}</span>}
        error={problem}
      />
    </>
  )
}

function BannerField({ banner }: { banner: ProfileDraft['banner'] }) {
  return (
    <div className="field">
      <span className="field__label">
        {t('Banner')} <span className="field__optional">{t('(optional)')}</span>
      </span>
      <div className="banner-picker">
        {banner.src && <img src={banner.src} alt="" />}
        <PicturePicker
          name="banner-file"
          label={t('Banner picture')}
          accept="image/*"
          choose={banner.src ? t('Change banner') : t('Choose banner')}
          onRemove={banner.src ? banner.remove : null}
          onFile={banner.pick}
          hint={t('A wide picture behind your avatar.')}
        />
      </div>
    </div>
  )
}
