import type { User } from '@gatehouse/client'
import { useState, type FormEvent } from 'react'
import { client } from '../../client.ts'
import { useAct } from '../../hooks/use-act.ts'
import { limitedLabel } from '../../parts/act-problem.tsx'
import { useAnnounce } from '../../parts/announcer.tsx'
import { Button } from '../../parts/button.tsx'
import { Dialog, DialogActions } from '../../parts/dialog.tsx'
import { Field } from '../../parts/field.tsx'
import { Notice } from '../../parts/notice.tsx'
import { Switch } from '../../parts/switch.tsx'
import { LooksFields } from './looks-fields.tsx'
import { useProfileDraft } from './profile-draft.ts'

/** Edits the profile. A federated account's looks belong to its home instance. Contract: 3, PATCH. */
export function ProfileDialog({ user, onClose }: { user: User; onClose: () => void }) {
  const draft = useProfileDraft(user)
  const act = useAct()
  const announce = useAnnounce()
  const [whole, setWhole] = useState(true)
  const { values, set } = draft

  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const valid = draft.problem === null
    setWhole(valid)
    if (!valid) return
    const saved = await act.run(async (signal) => {
      await client.updateProfile(await draft.toChange(signal), { signal })
    })
    if (!saved) return
    announce('Your profile was saved.')
    onClose()
  }
  return (
    <Dialog title="Edit profile" onClose={onClose} wide held={act.busy}>
      <form className="stack stack--tight" noValidate onSubmit={(event) => void submit(event)}>
        {user.homeInstance ? (
          <Notice>
            <p>
              Your name and looks are kept by your home instance, <strong>{user.homeInstance}</strong>. Change them
              there.
            </p>
          </Notice>
        ) : (
          <LooksFields draft={draft} problem={whole ? null : draft.problem} />
        )}
        <Field
          label="Status"
          optional
          maxLength={128}
          value={values.customStatus}
          onChange={(event) => set({ customStatus: event.target.value })}
          hint="A few words about what you are up to."
        />
        <Switch
          name="Let others find me"
          hint="Your account shows up when people of this instance search."
          on={values.discoverable}
          onChange={(discoverable) => set({ discoverable })}
        />
        <Switch
          name="Show my activity"
          hint="Friends see what you are doing."
          on={values.showActivity}
          onChange={(showActivity) => set({ showActivity })}
        />
        <DialogActions act={act}>
          <Button onClick={onClose} disabled={act.busy}>
            Cancel
          </Button>
          <Button type="submit" look="primary" busy={act.busy} aria-disabled={act.waitSeconds > 0}>
            {limitedLabel(act, 'Save')}
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  )
}
