import type { InstanceSettings } from '@gatehouse/client'
import { limits } from '@gatehouse/contracts/constants'
import { type SubmitEvent, useState } from 'react'
import { AccentField, PicturePicker } from '../../components/appearance-fields.tsx'
import { Button } from '../../components/button.tsx'
import { Card } from '../../components/card.tsx'
import { MutationError, QueryError, SubmitButton } from '../../components/error-message.tsx'
import { Field, RadioGroup, Switch, TextArea } from '../../components/field.tsx'
import { Skeleton, StatusDot } from '../../components/status.tsx'
import { refetchInstanceInfo, useClient, useMutation, useQuery } from '../../hooks.ts'
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

/** Spec: POST register, toggle matrix. */
export function SettingsSection() {
  const client = useClient()
  const fetchSettings = async (signal: AbortSignal) => {
    const [settings, info] = await Promise.all([
      client.call('getSettings', { signal }),
      client.call('instanceInfo', { signal }),
    ])
    return { settings, registrationOpen: info.registrationOpen }
  }
  const query = useQuery('settings', fetchSettings, 'settings')
  const mutation = useMutation()
  const [pending, setPending] = useState<Partial<InstanceSettings>>({})
  const change = async (changed: Partial<InstanceSettings>) => {
    if (mutation.busy) return
    // Shown at once, reverted on an error.
    setPending(changed)
    await mutation.run(async (signal) => {
      const settings = await client.call('patchSettings', { body: changed, signal })
      const { registrationOpen } = await client.call('instanceInfo', { signal })
      query.setData({ settings, registrationOpen: settings.registrationOpen ?? registrationOpen })
    }, t('Saved.'))
    setPending({})
  }
  if (!query.data) return query.error ? <QueryError query={query} /> : <Skeleton rows={5} />
  const { settings, registrationOpen } = query.data
  const shown = { ...settings, ...pending }
  const save = (next: InstanceSettings) => {
    query.setData({ settings: next, registrationOpen })
    refetchInstanceInfo()
  }
  return (
    <div className="settings-grid">
      <div className="stack">
        <Card title={t('Registration and federation')}>
          <RadioGroup
            legend={t('New accounts')}
            name="registration"
            value={toOption(shown.registrationOpen)}
            options={registrationOptions}
            onPick={(option) => void change({ registrationOpen: fromOption[option] })}
          />
          <div className="list">
            <Switch
              label={t('Allow users from other instances')}
              hint={t('Users of other instances can get an identity here. Invites do not affect this.')}
              on={shown.federatedRegistrationOpen}
              onChange={(on) => void change({ federatedRegistrationOpen: on })}
            />
            <Switch
              label={t('Accept peering requests automatically')}
              hint={t('When off, an admin approves or denies each request under Federation.')}
              on={shown.autoAcceptPeering}
              onChange={(on) => void change({ autoAcceptPeering: on })}
            />
            <Switch
              label={t('Demand a second factor of admins')}
              hint={t(
                'Admins without one cannot use this administration until they have turned one on, on their home page.',
              )}
              on={shown.requireSecondFactorForAdmins}
              onChange={(on) => void change({ requireSecondFactorForAdmins: on })}
            />
            <Switch
              label={t('Ask for a proof before a known user gets an account')}
              hint={t('When off, users that peers have told of can register while their own instance does not answer.')}
              on={shown.stubUpgradesNeedProof}
              onChange={(on) => void change({ stubUpgradesNeedProof: on })}
            />
          </div>
          {(mutation.error || mutation.waitSeconds > 0) && <MutationError mutation={mutation} />}
        </Card>
        <LookForm settings={settings} onSaved={save} />
      </div>
      <div className="stack">
        <RegistrationRules local={registrationOpen} federated={settings.federatedRegistrationOpen} />
        <TextSettingForm
          setting="instanceName"
          value={settings.instanceName}
          title={t('Instance name')}
          label={t('Name of this instance')}
          hint={t('Shown on the login page and to other instances.')}
          max={64}
          submit={t('Save name')}
          isNeeded
          onSaved={save}
        />
        <TextSettingForm
          setting="contact"
          value={settings.contact ?? ''}
          title={t('Contact')}
          label={t('Whom to ask')}
          hint={t(
            'Shown on the login page, for people who have forgotten their password: an address, a number, a room.',
          )}
          max={limits.contactMax}
          submit={t('Save contact')}
          onSaved={save}
        />
        <TextSettingForm
          setting="description"
          value={settings.description ?? ''}
          title={t('Description')}
          label={t('What this instance is')}
          hint={t('Shown on the pages for logging in and registering, and where a link is previewed.')}
          max={limits.descriptionMax}
          submit={t('Save description')}
          isLong
          onSaved={save}
        />
        <TextSettingForm
          setting="rules"
          value={settings.rules ?? ''}
          title={t('Rules')}
          label={t('What holds for everybody here')}
          hint={t('Shown on the pages for logging in and registering.')}
          max={limits.rulesMax}
          submit={t('Save rules')}
          isLong
          onSaved={save}
        />
      </div>
    </div>
  )
}

const rows = [
  { local: true, federated: true, newAccounts: 'open', fromOthers: 'allowed' },
  { local: true, federated: false, newAccounts: 'open', fromOthers: 'not allowed' },
  { local: false, federated: true, newAccounts: 'invite only', fromOthers: 'allowed' },
  { local: false, federated: false, newAccounts: 'invite only', fromOthers: 'not allowed' },
] as const

/** Spec: POST register, toggle matrix. */
function RegistrationRules({ local, federated }: { local: boolean; federated: boolean }) {
  return (
    <Card title={t('Who gets an account')} text={t('Existing accounts can always log in.')}>
      <table className="rules-table">
        <thead>
          <tr>
            <th scope="col">
              <span className="visually-hidden">{t('Current')}</span>
            </th>
            <th scope="col">{t('New accounts')}</th>
            <th scope="col">{t('From other instances')}</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => {
            const current = row.local === local && row.federated === federated
            return (
              <tr
                key={`${row.local} ${row.federated}`}
                className={current ? 'rules-table__row rules-table__row--current' : 'rules-table__row'}
                aria-current={current || undefined}
              >
                <td>
                  <StatusDot on={current} />
                  <span className="visually-hidden">{current ? t('Current') : ''}</span>
                </td>
                <td>{t(row.newAccounts)}</td>
                <td>{t(row.fromOthers)}</td>
              </tr>
            )
          })}
        </tbody>
      </table>
    </Card>
  )
}

type TextSettingProps = {
  setting: 'instanceName' | 'contact' | 'description' | 'rules'
  value: string
  title: string
  label: string
  hint: string
  max: number
  submit: string
  isNeeded?: boolean
  isLong?: boolean
  onSaved: (settings: InstanceSettings) => void
}

function TextSettingForm({
  setting,
  value,
  isNeeded = false,
  isLong = false,
  onSaved,
  max,
  ...texts
}: TextSettingProps) {
  const client = useClient()
  const mutation = useMutation()
  const [typed, setTyped] = useState(value)
  const text = typed.trim()
  const Input = isLong ? TextArea : Field
  const submit = async (event: SubmitEvent) => {
    event.preventDefault()
    if (isNeeded && !text) return
    await mutation.run(
      async (signal) => onSaved(await client.call('patchSettings', { body: { [setting]: text }, signal })),
      t('Saved.'),
    )
  }
  return (
    <Card title={texts.title}>
      <form className="stack stack--tight" noValidate onSubmit={(event) => void submit(event)}>
        <Input
          label={texts.label}
          name={setting}
          optional={!isNeeded}
          autoComplete="off"
          maxLength={max}
          value={typed}
          onText={(next) => setTyped(setting === 'rules' ? next : next.replaceAll('\n', ' '))}
          error={isNeeded && !text ? t('Enter a name.') : null}
          hint={texts.hint}
        />
        {mutation.error && <MutationError mutation={mutation} />}
        <div className="button-row">
          <SubmitButton mutation={mutation} variant="outline">
            {texts.submit}
          </SubmitButton>
        </div>
      </form>
    </Card>
  )
}

type LookProps = { settings: InstanceSettings; onSaved: (settings: InstanceSettings) => void }

function LookForm({ settings, onSaved }: LookProps) {
  const client = useClient()
  const mutation = useMutation()
  const [color, setColor] = useState(settings.accentColor)
  const change = (body: (signal: AbortSignal) => Promise<Partial<InstanceSettings>>) =>
    mutation.run(
      async (signal) => onSaved(await client.call('patchSettings', { body: await body(signal), signal })),
      t('Saved.'),
    )
  return (
    <Card title={t('Look')}>
      <div className="stack">
        <div className="field">
          <span className="field__label">{t('Logo')}</span>
          {settings.logo && (
            <div className="button-row">
              {['light', 'dark'].map((ground) => (
                <img
                  key={ground}
                  className="wordmark wordmark--logo logo-preview"
                  src={client.uploadUrl(settings.logo ?? '')}
                  alt=""
                />
              ))}
            </div>
          )}
          <PicturePicker
            name="logo"
            label={t('Logo')}
            accept="image/png,image/jpeg,image/webp,image/gif,image/avif"
            choose={settings.logo ? t('Change picture') : t('Choose picture')}
            onRemove={settings.logo ? () => void change(async () => ({ logo: null })) : null}
            onFile={(file) =>
              void change(async (signal) => ({ logo: (await client.upload(file, { signal })).filename }))
            }
            hint={t(
              'Takes the place of the word Gatehouse, on light and on dark, and is the picture where a link is previewed.',
            )}
          />
        </div>
        <div className="stack stack--tight">
          <AccentField value={color} onPick={setColor} />
          <p className="muted small">
            {t('Of buttons and links: darker or lighter than chosen where a text could not be read otherwise.')}
          </p>
        </div>
        {(mutation.error || mutation.waitSeconds > 0) && <MutationError mutation={mutation} />}
        <div className="button-row">
          <Button busy={mutation.busy} onClick={() => void change(async () => ({ accentColor: color }))}>
            {t('Save color')}
          </Button>
        </div>
      </div>
    </Card>
  )
}
