import type { InstanceSettings } from '@gatehouse/client'
import { commonReservations, limits, splitReservations } from '@gatehouse/contracts/constants'
import { useEffect, useState } from 'react'
import { AccentField, PicturePicker } from '../../components/appearance-fields.tsx'
import { Button } from '../../components/button.tsx'
import { Card } from '../../components/card.tsx'
import { MutationError, QueryError, SubmitButton } from '../../components/error-message.tsx'
import { RadioGroup, Switch } from '../../components/choices.tsx'
import { Field, Form } from '../../components/field.tsx'
import { Skeleton, StatusDot } from '../../components/status.tsx'
import { refetchInstanceInfo, useClient, useInstanceInfo, useQuery, useStore } from '../../hooks.ts'
import { useDraft } from '../../kept-state.ts'
import { t, type Text } from '../../language/language.ts'
import { JoiningCard } from './joining-card.tsx'
import { type OnSaved, usePatch } from './use-settings-patch.ts'

const registrationOptions = [
  ['open', 'Open', 'Anyone can create an account.'],
  ['closed', 'Invite only', 'New accounts need an invite link.'],
  ['environment', 'Server default', 'Set by the REGISTRATION_OPEN environment variable.'],
] as const

const fromOption = { open: true, closed: false, environment: null } as const
const toOption = (open: boolean | null) => (open === null ? 'environment' : open ? 'open' : 'closed')

const switches = {
  federatedRegistrationOpen: {
    label: 'Allow people from other instances',
    hint: 'People from other instances can use their account here. They don’t need an invite.',
  },
  autoAcceptPeering: {
    label: 'Accept peering requests automatically',
    hint: 'When this is off, an admin approves or denies each request under Federation.',
  },
  requireSecondFactorForAdmins: {
    label: 'Require two-factor authentication for admins',
    hint: 'Admins can’t open these pages until they turn on two-factor authentication in Settings > Security.',
  },
  stubUpgradesNeedProof: {
    label: 'Always verify users with their home instance',
    hint: 'When this is on, people can’t register while their home instance is unreachable. When it’s off, they can if a peer has already told this instance about them.',
  },
  openidEnabled: {
    label: 'Log in to applications with this instance',
    hint: 'People can use their account here to log in to the applications that you add under Applications.',
  },
} as const satisfies Partial<Record<keyof InstanceSettings, { label: Text; hint: Text }>>

const switchNames = Object.keys(switches) as Array<keyof typeof switches>

type TextSetting = { title: Text; label: Text; hint: Text; submit: Text; max: number; isLong?: boolean }
type TextName = 'instanceName' | 'contact' | 'description' | 'rules' | 'reservedUsernames'

const textSettings: Record<TextName, TextSetting> = {
  instanceName: {
    title: 'Instance name',
    label: 'Instance name',
    hint: 'Shown on the login page and to other instances.',
    submit: 'Save name',
    max: 64,
  },
  contact: {
    title: 'Contact',
    label: 'Contact for help',
    hint: 'Shown on the login page for people who can’t log in. For example, an email address or a chat room.',
    submit: 'Save contact',
    max: limits.contactMax,
  },
  description: {
    title: 'Description',
    label: 'About this instance',
    hint: 'Shown on the login and registration pages and in link previews.',
    submit: 'Save description',
    max: limits.descriptionMax,
    isLong: true,
  },
  rules: {
    title: 'Rules',
    label: 'Rules for everyone',
    hint: 'Shown on the login and registration pages.',
    submit: 'Save rules',
    max: limits.rulesMax,
    isLong: true,
  },
  reservedUsernames: {
    title: 'Reserved usernames',
    label: 'Usernames nobody can register',
    hint: 'Separate them with spaces. A * at the end reserves everything that begins like this, as in admin*.',
    submit: 'Save usernames',
    max: limits.reservedUsernamesMax * (limits.localUsernameMax + 1),
    isLong: true,
  },
}

const textNames = Object.keys(textSettings) as TextName[]

const showText = (value: string | string[] | null): string => (Array.isArray(value) ? value.join(' ') : (value ?? ''))
const readText = (name: TextName, text: string): string | string[] =>
  name === 'reservedUsernames' ? splitReservations(text) : text

/** The two gates of registration. Spec: Registration 7. */
export function SettingsSection() {
  const { info } = useInstanceInfo()
  const query = useQuery('settings', (signal, client) => client.call('getSettings', { signal }), 'settings')
  const { data: settings, setData } = query
  useEffect(() => void (settings && refetchInstanceInfo()), [settings])
  const { mutation, patch } = usePatch(setData)
  const [pending, setPending] = useState<Partial<InstanceSettings>>({})
  const change = async (changed: Partial<InstanceSettings>) => {
    if (mutation.busy) return
    // Shown at once, reverted on an error.
    setPending(changed)
    await patch(async () => changed)
    setPending({})
  }
  if (!settings) return query.error ? <QueryError query={query} /> : <Skeleton rows={5} />
  const shown = { ...settings, ...pending }
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
            {switchNames.map((name) => (
              <Switch
                key={name}
                label={t(switches[name].label)}
                hint={t(switches[name].hint)}
                on={shown[name]}
                onChange={(on) => void change({ [name]: on })}
              />
            ))}
          </div>
          {(mutation.error || mutation.waitSeconds > 0) && <MutationError mutation={mutation} />}
        </Card>
        <JoiningCard settings={settings} onSaved={setData} />
        <LookForm settings={settings} onSaved={setData} />
      </div>
      <div className="stack">
        <RegistrationRules
          local={settings.registrationOpen ?? info?.registrationOpen}
          federated={settings.federatedRegistrationOpen}
        />
        {textNames.map((name) => (
          <TextSettingForm key={name} name={name} value={showText(settings[name])} onSaved={setData} />
        ))}
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

/** The two gates of registration. Spec: Registration 7. */
function RegistrationRules({ local, federated }: { local: boolean | undefined; federated: boolean }) {
  return (
    <Card title={t('Who can register')} text="People with an account can always log in.">
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

const withCommonReservations = (typed: string): string =>
  showText([...new Set([...splitReservations(typed), ...commonReservations])])

type TextSettingProps = { name: TextName; value: string; onSaved: OnSaved }

function TextSettingForm({ name, value, onSaved }: TextSettingProps) {
  const { title, label, hint, submit, max, isLong } = textSettings[name]
  const userId = useStore(useClient().session).user?.id
  const [draft, setDraft] = useDraft(`${name} by ${userId}`)
  const { mutation, patch } = usePatch((saved) => {
    setDraft(null)
    onSaved(saved)
  })
  const typed = draft ?? value
  const text = typed.trim()
  const isNeeded = name === 'instanceName'
  const problem = isNeeded && !text ? t('Enter a name.') : null
  return (
    <Card title={t(title)}>
      <Form className="stack stack--tight" onSubmit={() => patch(async () => ({ [name]: readText(name, text) }))}>
        <Field
          isLong={isLong}
          label={t(label)}
          name={name}
          optional={!isNeeded}
          maxLength={max}
          value={typed}
          onText={(next) => setDraft(name === 'rules' ? next : next.replaceAll('\n', ' '))}
          problem={problem}
          error={problem}
          hint={t(hint)}
        />
        {mutation.error && <MutationError mutation={mutation} />}
        <div className="button-row">
          <SubmitButton mutation={mutation} variant="outline" text={submit} />
          {name === 'reservedUsernames' && (
            <Button variant="plain" text="Add common ones" onClick={() => setDraft(withCommonReservations(typed))} />
          )}
        </div>
      </Form>
    </Card>
  )
}

function LookForm({ settings, onSaved }: { settings: InstanceSettings; onSaved: OnSaved }) {
  const client = useClient()
  const { mutation, patch } = usePatch(onSaved)
  const [color, setColor] = useState(settings.accentColor)
  const { logo } = settings
  /** Once on light and once on dark. */
  const preview = { className: 'wordmark wordmark--logo logo-preview', src: client.uploadUrl(logo ?? ''), alt: '' }
  return (
    <Card title={t('Appearance')}>
      <div className="stack">
        <div className="field">
          <span className="field__label">{t('Logo')}</span>
          {logo && (
            <div className="button-row">
              <img {...preview} />
              <img {...preview} />
            </div>
          )}
          <PicturePicker
            name="logo"
            label={t('Logo')}
            choose={logo ? 'Change image' : 'Choose image'}
            onRemove={logo ? () => void patch(async () => ({ logo: null })) : null}
            onFile={(file) =>
              void patch(async (signal) => ({ logo: (await client.upload(file, { signal })).filename }))
            }
            hint={t(
              'Replaces the Gatehouse wordmark and is used in link previews. Check it on light and dark backgrounds.',
            )}
          />
        </div>
        <div className="stack stack--tight">
          <AccentField value={color} onPick={setColor} />
          <p className="muted small">
            {t('Used for buttons and links. We make it darker or lighter where text would be hard to read.')}
          </p>
        </div>
        {(mutation.error || mutation.waitSeconds > 0) && <MutationError mutation={mutation} />}
        <div className="button-row">
          <Button
            busy={mutation.busy}
            text="Save color"
            onClick={() => void patch(async () => ({ accentColor: color }))}
          />
        </div>
      </div>
    </Card>
  )
}
