import type { InstanceSettings } from '@gatehouse/client'
import { useState } from 'react'
import { MutationError, QueryError } from '../../components/error-message.tsx'
import { RadioGroup } from '../../components/radio-group.tsx'
import { ListSkeleton } from '../../components/skeleton.tsx'
import { Switch } from '../../components/switch.tsx'
import { useToast } from '../../components/toaster.tsx'
import { useClient } from '../../context.ts'
import { useAdminChanges } from '../../hooks/use-admin-changes.ts'
import { useMutation } from '../../hooks/use-mutation.ts'
import { useQuery } from '../../hooks/use-query.ts'
import { InstanceNameForm } from './instance-name-form.tsx'
import { RegistrationRules } from './registration-rules.tsx'
import { t } from '../../language/language.ts'

const registrationOptions = [
  ['open', 'Open', 'Anyone can create an account.'],
  ['closed', 'Invite only', 'New accounts need an invite link.'],
  ['environment', 'Server default', 'As set by the environment variable REGISTRATION_OPEN.'],
] as const

type RegistrationOption = (typeof registrationOptions)[number][0]

const toOption = (open: boolean | null): RegistrationOption =>
  open === null ? 'environment' : open ? 'open' : 'closed'
const fromOption = { open: true, closed: false, environment: null } as const

/** Registration, peering and the name of the instance. Spec: POST register, toggle matrix. */
export function SettingsSection() {
  const client = useClient()
  const query = useQuery('settings', async (signal) => {
    const [settings, info] = await Promise.all([
      client.call('getSettings', { signal }),
      client.call('instanceInfo', { signal }),
    ])
    return { settings, registrationOpen: info.registrationOpen }
  })
  useAdminChanges('settings', query.refetch)
  const mutation = useMutation()
  const showToast = useToast()
  const [pending, setPending] = useState<Partial<InstanceSettings>>({})
  const change = async (changed: Partial<InstanceSettings>) => {
    if (mutation.busy) return
    // Optimistic: shown at once, reverted on an error.
    setPending(changed)
    await mutation.run(async (signal) => {
      const settings = await client.call('patchSettings', { body: changed, signal })
      const { registrationOpen } = await client.call('instanceInfo', { signal })
      query.setData({ settings, registrationOpen: settings.registrationOpen ?? registrationOpen })
      showToast(t('Saved.'))
    })
    setPending({})
  }
  if (!query.data) return query.error ? <QueryError query={query} /> : <ListSkeleton rows={5} />
  const { settings, registrationOpen } = query.data
  const shown = { ...settings, ...pending }
  return (
    <div className="settings-grid">
      <section className="card stack" aria-labelledby="registration-head">
        <h2 id="registration-head">{t('Registration and federation')}</h2>
        <RadioGroup
          legend={t('New accounts')}
          name="registration"
          value={toOption(shown.registrationOpen)}
          options={registrationOptions}
          onPick={(option) => void change({ registrationOpen: fromOption[option] })}
        />
        <div className="list">
          <div>
            <Switch
              label={t('Allow users from other instances')}
              hint={t('Users of other instances can get an identity here. Invites do not affect this.')}
              on={shown.federatedRegistrationOpen}
              onChange={(on) => void change({ federatedRegistrationOpen: on })}
            />
          </div>
          <div>
            <Switch
              label={t('Accept peering requests automatically')}
              hint={t('When off, an admin approves or denies each request under Federation.')}
              on={shown.autoAcceptPeering}
              onChange={(on) => void change({ autoAcceptPeering: on })}
            />
          </div>
        </div>
        {(mutation.error || mutation.waitSeconds > 0) && <MutationError mutation={mutation} />}
      </section>
      <div className="stack">
        <RegistrationRules local={registrationOpen} federated={settings.federatedRegistrationOpen} />
        <InstanceNameForm
          name={settings.instanceName}
          onSaved={(next) => query.setData({ settings: next, registrationOpen })}
        />
      </div>
    </div>
  )
}
