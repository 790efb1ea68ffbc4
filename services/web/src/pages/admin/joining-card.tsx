import type { InstanceSettings } from '@gatehouse/client'
import { limits } from '@gatehouse/contracts/constants'
import { useState } from 'react'
import { Card } from '../../components/card.tsx'
import { Switch } from '../../components/choices.tsx'
import { MutationError, SubmitButton } from '../../components/error-message.tsx'
import { Field, Form } from '../../components/field.tsx'
import { useClient, useStore } from '../../hooks.ts'
import { useDraft } from '../../kept-state.ts'
import { t, type Text } from '../../language/language.ts'
import { type OnSaved, usePatch } from './use-settings-patch.ts'

type Props = { settings: InstanceSettings; onSaved: OnSaved }

const numbers = {
  denialBlockHours: {
    label: 'Hours that a network is blocked',
    hint: 'After you deny a registration and block its network. 0 to {max}.',
    submit: 'Save hours',
    max: limits.denialBlockHoursMax,
  },
  memberInvites: {
    label: 'Invites by members',
    hint: 'How many each member can create in 30 days. 0 to {max}: with 0, only admins invite.',
    submit: 'Save number of invites',
    max: limits.memberInvitesMax,
  },
} as const satisfies Partial<Record<keyof InstanceSettings, { label: Text; hint: Text; submit: Text; max: number }>>

/** How an open instance keeps robots out. Contract: 3, Approval, Proof of work; 4, Invites of members. */
export function JoiningCard({ settings, onSaved }: Props) {
  const { mutation, patch } = usePatch(onSaved)
  const [pending, setPending] = useState<Partial<InstanceSettings>>({})
  const { approvalRequired, askReason, proofOfWork } = { ...settings, ...pending }
  const change = async (changed: Partial<InstanceSettings>) => {
    if (mutation.busy) return
    // Shown at once, reverted on an error.
    setPending(changed)
    await patch(async () => changed)
    setPending({})
  }
  return (
    <Card title={t('Joining')}>
      <div className="stack">
        <div className="list">
          <Switch
            label={t('Approve new accounts')}
            hint={t('People wait until an admin approves them under Registrations. Those with an invite don’t wait.')}
            on={approvalRequired}
            onChange={(on) => void change({ approvalRequired: on })}
          />
          {approvalRequired && (
            <Switch
              label={t('Ask why people want to join')}
              hint={t(
                'When this is on, nobody can register without giving a reason. When it’s off, the reason is optional.',
              )}
              on={askReason}
              onChange={(on) => void change({ askReason: on })}
            />
          )}
          <Switch
            label={t('Proof of work')}
            hint={t(
              'Browsers compute for a moment before they register. This slows robots down. Invites don’t need it.',
            )}
            on={proofOfWork === 'registration'}
            onChange={(on) => void change({ proofOfWork: on ? 'registration' : 'off' })}
          />
        </div>
        {(mutation.error || mutation.waitSeconds > 0) && <MutationError mutation={mutation} />}
        {approvalRequired && <NumberForm name="denialBlockHours" settings={settings} onSaved={onSaved} />}
        <NumberForm name="memberInvites" settings={settings} onSaved={onSaved} />
      </div>
    </Card>
  )
}

function NumberForm({ name, settings, onSaved }: Props & { name: keyof typeof numbers }) {
  const { label, hint, submit, max } = numbers[name]
  const userId = useStore(useClient().session).user?.id
  const [draft, setDraft] = useDraft(`${name} by ${userId}`)
  const { mutation, patch } = usePatch((saved) => {
    setDraft(null)
    onSaved(saved)
  })
  const typed = draft ?? String(settings[name])
  const isNumber = /^\d{1,4}$/.test(typed.trim()) && Number(typed) <= max
  const problem = isNumber ? null : t('Enter a whole number from 0 to {max}.', { max })
  return (
    <Form className="stack stack--tight" onSubmit={() => patch(async () => ({ [name]: Number(typed) }))}>
      <Field
        label={t(label)}
        name={name}
        inputMode="numeric"
        value={typed}
        onText={(text) => {
          setDraft(text)
          mutation.clear()
        }}
        problem={problem}
        hint={t(hint, { max })}
      />
      {(mutation.error || mutation.waitSeconds > 0) && <MutationError mutation={mutation} />}
      <div className="button-row">
        <SubmitButton mutation={mutation} variant="outline" text={submit} />
      </div>
    </Form>
  )
}
