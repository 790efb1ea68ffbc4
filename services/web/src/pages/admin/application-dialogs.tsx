import { ApiError, type Application } from '@gatehouse/client'
import { limits } from '@gatehouse/contracts/constants'
import { useState } from 'react'
import { changedFields } from '../../components/changed-fields.ts'
import { Checkbox, RadioGroup } from '../../components/choices.tsx'
import { CopyButton } from '../../components/copy-field.tsx'
import { ConfirmDialog, Dialog } from '../../components/dialog.tsx'
import { Field } from '../../components/field.tsx'
import { Notice } from '../../components/status.tsx'
import { useAppContext, useClient, useMutation, type Work } from '../../hooks.ts'
import { t, type Text, translateRefusal } from '../../language/language.ts'
import type { ApplicationEntry, AddressField, AddressProblem } from './application-form.ts'
import { changesOf, entryOf, findAddressProblem, newBodyOf, refusedFieldOf } from './application-form.ts'
import type { RowDialogProps } from './row-dialog.tsx'

type AddressTexts = { label: Text; hint: Text; isLong?: true }

const addressFields: Readonly<Record<AddressField, AddressTexts>> = {
  redirectUris: {
    label: 'Redirect addresses',
    hint: 'Where people return after they log in, exactly as the application sends it. One per line.',
    isLong: true,
  },
  postLogoutRedirectUris: {
    label: 'Addresses after logout',
    hint: 'Where people return after they log out of the application. One per line.',
    isLong: true,
  },
  backchannelLogoutUri: {
    label: 'Address for logout notices',
    hint: 'OpenID Connect Back-Channel Logout: the application hears when a session ends here.',
  },
  signalsUri: {
    label: 'Address for signals',
    hint: 'Shared Signals (SSF): the application also hears of password changes, suspensions and deletions.',
  },
}
const addressNames = Object.keys(addressFields) as AddressField[]

const types = [
  ['confidential', 'Confidential', 'It runs on a server and keeps a secret.'],
  ['public', 'Public', 'It runs in a browser or on people’s devices, and has no secret.'],
] as const
const tokenForms = [
  ['opaque', 'Opaque', 'The application asks this instance about each. The safe choice.'],
  ['jwt', 'JWT', 'Others can check them without asking. They’re valid for five minutes.'],
] as const
const subjectTypes = [
  ['public', 'The same everywhere', 'Applications can tell that two of their users are the same person.'],
  ['pairwise', 'Separate', 'Applications at other hosts get other IDs. All redirect addresses must have one host.'],
] as const

function describeProblem(problem: AddressProblem): string | null {
  if (!problem) return null
  if (problem.kind === 'too_many') return t('These are too many addresses.')
  const { kind, address } = problem
  if (kind === 'twice') return t('{address} is there twice.', { address })
  return t('{address} isn’t allowed. Use https://, or http:// for this computer only, without # and *.', { address })
}

type DialogProps = Omit<RowDialogProps<Application | null>, 'name'>

/** Null: a new one. An edit sends what was changed, so that it takes nothing else back. */
export function ApplicationDialog({ row, onClose, onDone }: DialogProps) {
  const mutation = useMutation()
  const [initial] = useState(() => entryOf(row))
  const [entry, setEntry] = useState(initial)
  const change = (changed: Partial<ApplicationEntry>) => {
    setEntry((before) => ({ ...before, ...changed }))
    mutation.clear()
  }
  const { error } = mutation
  const refused = error instanceof ApiError ? refusedFieldOf(error.details) : ''
  const refusalOf = (name: string) => (refused === name ? translateRefusal(error as ApiError) : null)
  const isRefusedHere = addressNames.some((name) => name === refused)
  const add: Work<Credentials | null> = async (_, client) => {
    const { application, clientSecret } = await client.call('createApplication', { body: newBodyOf(entry) })
    return { id: application.id, name: application.name, secret: clientSecret ?? null }
  }
  const save: Work<Credentials | null> = async (_, client) => {
    const body = changesOf(changedFields(initial, entry))
    await client.call('patchApplication', { params: { id: row?.id ?? '' }, body })
    return null
  }
  return (
    <ConfirmDialog
      dialog="ApplicationDialog"
      title={row ? t('Edit {name}', { name: row.name }) : t('New application')}
      submit={row ? t('Save') : t('Add application')}
      mutation={isRefusedHere ? { ...mutation, error: null } : mutation}
      act={row ? save : add}
      {...(row
        ? { done: t('{name} saved.', { name: entry.name.trim() }) }
        : {
            next: (credentials: Credentials | null) =>
              credentials && <ApplicationCredentials {...credentials} onClose={onClose} />,
          })}
      onClose={onClose}
      onDone={onDone}
    >
      <ApplicationFields isNew={!row} entry={entry} change={change} refusalOf={refusalOf} />
    </ConfirmDialog>
  )
}

type FieldsProps = {
  isNew: boolean
  entry: ApplicationEntry
  change: (changed: Partial<ApplicationEntry>) => void
  refusalOf: (name: string) => string | null
}

// eslint-disable-next-line max-lines-per-function -- one form, field after field
function ApplicationFields({ isNew, entry, change, refusalOf }: FieldsProps) {
  return (
    <>
      <Field
        label={t('Name')}
        name="application-name"
        maxLength={limits.applicationNameMax}
        value={entry.name}
        onText={(name) => change({ name })}
        problem={entry.name.trim() ? null : t('Enter a name.')}
        hint={t('People see this name when they log in.')}
      />
      {isNew && (
        <RadioGroup
          legend={t('Type')}
          name="application-type"
          value={entry.type}
          options={types}
          onPick={(type) => change({ type })}
        />
      )}
      {addressNames.map((name) => {
        const { label, hint, isLong } = addressFields[name]
        return (
          <Field
            key={name}
            verbatim
            optional
            label={t(label)}
            name={name}
            isLong={isLong}
            value={entry[name]}
            onText={(text) => change({ [name]: text })}
            problem={describeProblem(findAddressProblem(name, entry))}
            error={refusalOf(name)}
            hint={t(hint)}
          />
        )
      })}
      <RadioGroup
        legend={t('Access tokens')}
        name="access-tokens"
        value={entry.accessTokens}
        options={tokenForms}
        onPick={(accessTokens) => change({ accessTokens })}
      />
      {isNew && (
        <RadioGroup
          legend={t('User IDs')}
          name="subject-type"
          value={entry.subjectType}
          options={subjectTypes}
          onPick={(subjectType) => change({ subjectType, deviceGrant: false })}
        />
      )}
      <Checkbox
        label={t('Don’t ask people for their consent. Choose this only for applications of your own.')}
        name="skip-consent"
        checked={entry.skipConsent}
        onChange={(skipConsent) => change({ skipConsent })}
      />
      {entry.subjectType === 'public' && (
        <Checkbox
          label={t(
            'Devices without a browser can log in with a code. Choose this only for applications that have some.',
          )}
          name="device-grant"
          checked={entry.deviceGrant}
          onChange={(deviceGrant) => change({ deviceGrant })}
        />
      )}
    </>
  )
}

/** `secret` null: a public application has none. */
type Credentials = { id: string; name: string; secret: string | null }

/** Shows the secret once. */
function ApplicationCredentials({ id, name, secret, onClose }: Credentials & { onClose: () => void }) {
  const { origin } = useClient()
  const values: ReadonlyArray<readonly [label: Text, copyLabel: Text, value: string]> = [
    ['Issuer', 'Copy issuer', origin],
    ['Client ID', 'Copy client ID', id],
    ...(secret === null ? [] : [['Client secret', 'Copy client secret', secret] as const]),
  ]
  return (
    <Dialog
      dialog="ApplicationCredentials"
      title={t('Set up {name}', { name })}
      text="Enter these values in the settings of the application."
      closeLabel={secret === null ? t('Done') : t('I’ve saved it')}
      onClose={onClose}
    >
      {values.map(([label, copyLabel, value]) => (
        <div key={label} className="stack stack--tight">
          <p className="field__label">{t(label)}</p>
          <div className="secret-value">
            <code translate="no" className="secret-value__text secret-value__text--long">
              {value}
            </code>
            <CopyButton
              text={value}
              label={t(copyLabel)}
              {...(value === (secret ?? id) && { 'data-first-focus': true })}
            />
          </div>
        </div>
      ))}
      {secret !== null && (
        <Notice
          tone="warning"
          text="The secret is shown only once. Anyone who has it can pretend to be the application."
        />
      )}
    </Dialog>
  )
}

export function RenewSecretDialog({ row, name, onClose, onDone }: RowDialogProps<Application>) {
  const { id, previousSecretUntil } = row
  const { now } = useAppContext()
  const text: Text =
    (previousSecretUntil ?? 0) > now()
      ? 'The current secret works for one more day. The one before it, which still works, ends now.'
      : 'The current secret works for one more day. Enter the new one in the application before that.'
  return (
    <ConfirmDialog
      dialog="RenewSecretDialog"
      title={t('New secret for {name}', { name })}
      text={text}
      submit={t('Create secret')}
      act={async (_, client) => (await client.call('renewApplicationSecret', { params: { id } })).clientSecret}
      next={(secret: string) => <ApplicationCredentials id={id} name={name} secret={secret} onClose={onClose} />}
      onClose={onClose}
      onDone={onDone}
    />
  )
}
