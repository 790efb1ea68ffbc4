import type { Application, ReceiverState } from '@gatehouse/client'
import { Fragment } from 'react'
import { UserName } from '../../components/avatar.tsx'
import { CopyButton } from '../../components/copy-field.tsx'
import { RowError } from '../../components/error-message.tsx'
import { formatDateTime, formatNumber, hostOf } from '../../components/format.ts'
import { Menu, MenuItem } from '../../components/menu.tsx'
import { Badge, RelativeTime } from '../../components/status.tsx'
import { useAppContext, useMutation } from '../../hooks.ts'
import { t } from '../../language/language.ts'
import { Phrase } from '../../language/phrase.tsx'
import '../../styles/list-row.css'
import { ApplicationDialog, RenewSecretDialog } from './application-dialogs.tsx'
import { type Channel, channels, describeReceiver } from './receiver-states.ts'
import { askBefore, useRowDialog } from './row-dialog.tsx'

type Props = { application: Application; onChanged: () => void }

export function ApplicationRow({ application, onChanged }: Props) {
  const { id, name, type, createdAt, suspendedAt, receiver } = application
  const { now } = useAppContext()
  const isPublic = type === 'public'
  const isSuspended = suspendedAt !== null
  const secretUntil = application.previousSecretUntil ?? 0
  return (
    <li className="list-row">
      <div className="stack stack--tight">
        <h3>
          <UserName>{name}</UserName> <Badge>{isPublic ? t('public') : t('confidential')}</Badge>{' '}
          {isSuspended && <Badge tone="bad">{t('Suspended')}</Badge>}
          {application.skipConsent && <Badge>{t('doesn’t ask')}</Badge>}
          {application.subjectType === 'pairwise' && <Badge>{t('separate user IDs')}</Badge>}
        </h3>
        <p className="small muted">
          {hostsOf(application).map((host) => (
            <Fragment key={host}>
              <bdi translate="no">{host}</bdi> ·{' '}
            </Fragment>
          ))}
          <Phrase text="created {time}" values={{ time: <RelativeTime at={createdAt} /> }} />
        </p>
        <Receiver channel="backchannel" state={receiver.backchannel} />
        <Receiver channel="signals" state={receiver.signals} />
        {secretUntil > now() && (
          <p className="small">{t('The old secret works until {time}.', { time: formatDateTime(secretUntil) })}</p>
        )}
      </div>
      <div className="list-row__details">
        <span className="small muted">{t('Client ID')}</span>
        <code translate="no">{id}</code>
        <CopyButton size="small" text={id} label={t('Copy client ID of {name}', { name })} />
      </div>
      <ApplicationMenu application={application} onChanged={onChanged} />
    </li>
  )
}

/** Where people come back to. */
const hostsOf = ({ redirectUris }: Application): string[] => [...new Set(redirectUris.map((uri) => hostOf(uri) || uri))]

function Receiver({ channel, state }: { channel: Channel; state: ReceiverState | null }) {
  if (!state) return null
  const { waiting, lastDeliveredAt, failingSince, lastError } = state
  const { tone, label } = describeReceiver(state)
  return (
    <p className="small">
      {t(channels[channel])} <Badge tone={tone}>{t(label)}</Badge>{' '}
      {failingSince !== null && <Phrase text="since {time} · " values={{ time: <RelativeTime at={failingSince} /> }} />}
      {waiting > 0 && t('waiting: {count} · ', { count: formatNumber(waiting) })}
      {lastDeliveredAt !== null && (
        <Phrase text="last delivered {time}" values={{ time: <RelativeTime at={lastDeliveredAt} /> }} />
      )}
      {lastError !== null && (
        <span className="row-error applications__error">{t('Last error: {error}', { error: lastError })}</span>
      )}
    </p>
  )
}

/** Everything that an admin can do with an application. */
function ApplicationMenu({ application, onChanged }: Props) {
  const { id, name, type, signalsUri, suspendedAt } = application
  const verification = useMutation()
  const { item, dialog } = useRowDialog({ row: application, name, onDone: onChanged })
  const verify = async () => {
    const isSent = await verification.run(
      (_, client) => client.call('testApplicationReceiver', { params: { id } }),
      t('Test signal for {name} is on its way.', { name }),
    )
    if (isSent) onChanged()
  }
  return (
    <>
      <div className="list-row__actions">
        <Menu label={t('Actions for {username}', { username: name })}>
          {item('Edit', 'Edit {name}', ApplicationDialog)}
          {type === 'confidential' && item('New secret', 'New secret for {name}', RenewSecretDialog)}
          {signalsUri !== null && (
            <MenuItem
              text="Send a test signal"
              fullText="Send a test signal to {name}"
              values={{ name }}
              disabled={verification.busy}
              onClick={() => void verify()}
            />
          )}
          {suspendedAt === null
            ? item('Suspend', 'Suspend {name}', SuspendApplicationDialog, { dangerous: true })
            : item('Unsuspend', 'Unsuspend {name}', UnsuspendApplicationDialog)}
          {item('Delete', 'Delete {name}', DeleteApplicationDialog, { dangerous: true })}
        </Menu>
      </div>
      <RowError mutation={verification} />
      {dialog}
    </>
  )
}

const SuspendApplicationDialog = askBefore<Application>({
  dialog: 'SuspendApplicationDialog',
  title: 'Suspend {name}',
  text: 'Nobody can log in with it until you unsuspend it, and its access to all accounts ends now.',
  submit: 'Suspend',
  dangerous: true,
  act: (client, { id }) => client.call('patchApplication', { params: { id }, body: { suspended: true } }),
  done: '{name} suspended.',
})

const UnsuspendApplicationDialog = askBefore<Application>({
  dialog: 'UnsuspendApplicationDialog',
  title: 'Unsuspend {name}',
  text: 'People can log in with it again.',
  submit: 'Unsuspend',
  act: (client, { id }) => client.call('patchApplication', { params: { id }, body: { suspended: false } }),
  done: '{name} unsuspended.',
})

const DeleteApplicationDialog = askBefore<Application>({
  dialog: 'DeleteApplicationDialog',
  title: 'Delete {name}',
  text: 'Nobody can log in with it anymore, and its access to all accounts ends now. This can’t be undone.',
  submit: 'Delete',
  dangerous: true,
  act: (client, { id }) => client.call('deleteApplication', { params: { id } }),
  done: '{name} deleted.',
})
