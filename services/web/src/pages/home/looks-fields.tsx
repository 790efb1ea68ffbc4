import { useId, useRef } from 'react'
import { AvatarPicker } from '../../parts/avatar-picker.tsx'
import { Button } from '../../parts/button.tsx'
import { ColourSwatches } from '../../parts/colour-swatches.tsx'
import { Field, FieldLine } from '../../parts/field.tsx'
import { TextArea } from '../../parts/text-area.tsx'
import { bioMax, displayNameMax, type ProfileDraft } from './profile-draft.ts'

/** Name, pictures, colours and bio of the profile dialog. */
export function LooksFields({ draft, problem }: { draft: ProfileDraft; problem: string | null }) {
  const { values, set, avatar } = draft
  return (
    <>
      <AvatarPicker
        name={values.displayName.trim() || draft.username}
        colour={values.avatarColor}
        src={avatar.src}
        onPick={avatar.pick}
        onRemove={avatar.remove}
      />
      <div className="split">
        <ColourSwatches value={values.avatarColor} onPick={(avatarColor) => set({ avatarColor })} />
        <AccentField value={values.accentColor} onPick={(accentColor) => set({ accentColor })} />
      </div>
      <BannerField banner={draft.banner} />
      <Field
        label="Display name"
        optional
        autoComplete="nickname"
        maxLength={displayNameMax}
        value={values.displayName}
        onChange={(event) => set({ displayName: event.target.value })}
        hint={`Without one, others see ${draft.username}.`}
      />
      <TextArea
        label="About you"
        optional
        value={values.bio}
        onChange={(event) => set({ bio: event.target.value })}
        left={bioMax - [...values.bio].length}
        error={problem}
      />
    </>
  )
}

function AccentField({ value, onPick }: { value: string | null; onPick: (colour: string | null) => void }) {
  const id = useId()
  return (
    <div className="field">
      <label className="field__label" htmlFor={id}>
        Accent colour <span className="field__optional">(optional)</span>
      </label>
      <div className="accent">
        <input id={id} type="color" value={value ?? '#0b6659'} onChange={(event) => onPick(event.target.value)} />
        <code>{value ?? 'none'}</code>
        {value && (
          <Button size="small" look="plain" onClick={() => onPick(null)}>
            Remove
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
        Banner <span className="field__optional">(optional)</span>
      </span>
      <div className="banner-picker">
        {banner.src && <img src={banner.src} alt="" />}
        <input
          ref={input}
          className="visually-hidden"
          type="file"
          accept="image/*"
          tabIndex={-1}
          aria-label="Banner picture"
          onChange={(event) => {
            const file = event.target.files?.[0]
            if (file) banner.pick(file)
            event.target.value = ''
          }}
        />
        <div className="button-row">
          <Button size="small" aria-describedby={`${id}-line`} onClick={() => input.current?.click()}>
            {banner.src ? 'Change banner' : 'Choose a banner'}
          </Button>
          {banner.src && (
            <Button size="small" look="plain" onClick={banner.remove}>
              Remove
            </Button>
          )}
        </div>
      </div>
      <FieldLine id={`${id}-line`} label="" hint="A wide picture behind your avatar." />
    </div>
  )
}
