import type { Peer } from '@gatehouse/client'
import { Fragment, type ReactNode } from 'react'
import { Link } from 'wouter'
import { UserName } from '../../components/avatar.tsx'
import { ConfirmDialog } from '../../components/dialog.tsx'
import { MutationButton, RowError } from '../../components/error-message.tsx'
import { Field, useText } from '../../components/field.tsx'
import { formatNumber, hostOf } from '../../components/format.ts'
import { Menu, MenuItem } from '../../components/menu.tsx'
import { Badge, RelativeTime } from '../../components/status.tsx'
import { useMutation, type Work } from '../../hooks.ts'
import { t, type Text } from '../../language/language.ts'
import { Phrase } from '../../language/phrase.tsx'
import { explainPeer, type PeerAct, peerStates } from './peer-states.ts'
import { askBefore, type RowDialogProps, useRowDialog } from './row-dialog.tsx'

const ResetDialog = askBefore<Peer>({
  dialog: 'ResetDialog',
  title: 'Reset {name}',
  text: 'This instance forgets the peering. A new request is needed to become peers again.',
  submit: 'Reset',
  dangerous: true,
  act: (client, { id }) => client.call('resetPeer', { params: { id } }),
  done: '{host} was reset.',
})

const RevokePeerDialog = askBefore<Peer>({
  dialog: 'RevokePeerDialog',
  title: 'Revoke {name}',
  text: 'The two instances refuse each other’s requests from now on. Accounts are not changed.',
  submit: 'Revoke',
  dangerous: true,
  act: (client, { id }) => client.call('revokePeer', { params: { id } }),
  done: '{host} is no longer a peer.',
})

const ForgetDialog = askBefore<Peer>({
  dialog: 'ForgetDialog',
  title: 'Forget {name}',
  text: 'The instance leaves this list, and may ask to become a peer again.',
  submit: 'Forget',
  dangerous: true,
  act: (client, { id }) => client.call('forgetPeer', { params: { id } }),
  done: '{host} was forgotten.',
})

/** Contract: 7. */
export function PeerRow({ peer, onChanged }: { peer: Peer; onChanged: () => void }) {
  const recheck = useMutation()
  const host = hostOf(peer.origin)
  const { item, dialog } = useRowDialog({ row: peer, name: host, onDone: onChanged })
  const state = peerStates[peer.status]
  const explanation = explainPeer(peer)
  const time = lastChangeOf(peer)
  const runRecheck = async () => {
    const done = await recheck.run(
      (_, client) => client.call('recheckPeer', { params: { id: peer.id } }),
      ({ peer: { status } }) => {
        const label = t(peerStates[status].label)
        return t(status === 'active' ? '{host} is active again.' : '{host}: still {label}.', { host, label })
      },
    )
    if (done) onChanged()
  }
  const items: Record<PeerAct, ReactNode> = {
    rotate: item('Secret…', 'Secret of {host}', RotationDialog),
    recheck: (
      <MenuItem
        key="Recheck"
        text="Recheck"
        fullText="Recheck {name}"
        values={{ name: host }}
        disabled={recheck.busy}
        onClick={() => void runRecheck()}
      />
    ),
    reset: item('Reset', 'Reset {name}', ResetDialog),
    revoke: item('Revoke', 'Revoke {name}', RevokePeerDialog, { dangerous: true }),
    forget: item('Forget', 'Forget {name}', ForgetDialog),
  }
  return (
    <li className="list-row">
      <div>
        <h3>
          {host} <Badge tone={state.tone}>{t(state.label)}</Badge>
        </h3>
        <p className="small muted">
          {peer.instanceName && <UserName>{peer.instanceName}</UserName>}
          {peer.instanceName && ' · '}
          <Phrase text={time.text} values={{ time: <RelativeTime at={time.at} /> }} />
          {peer.status === 'active' && peer.rotatedAt !== null && (
            <Phrase
              text={
                peer.autoRotateIntervalDays === 1
                  ? ' · secret rotated {time}, every day'
                  : ' · secret rotated {time}, every {days} days'
              }
              values={{ time: <RelativeTime at={peer.rotatedAt} />, days: peer.autoRotateIntervalDays }}
            />
          )}
        </p>
        <Contact peer={peer} />
        {explanation && <p className="small">{explanation}</p>}
        <RowError mutation={recheck} />
      </div>
      <div className="list-row__actions">
        <Menu label={t('Actions for {username}', { username: host })}>{state.acts.map((act) => items[act])}</Menu>
      </div>
      {dialog}
    </li>
  )
}

/** When it was heard of, and what fails. Contract: 7, States of a peer. */
function Contact({ peer: { lastSeenAt, lastSyncedAt, failuresInRow = 0, ordersOverdue = 0 } }: { peer: Peer }) {
  const facts: ReactNode[] = []
  if (lastSeenAt) facts.push(<Phrase text="seen {time}" values={{ time: <RelativeTime at={lastSeenAt} /> }} />)
  if (lastSyncedAt) facts.push(<Phrase text="synced {time}" values={{ time: <RelativeTime at={lastSyncedAt} /> }} />)
  if (failuresInRow > 0) facts.push(t('failures in a row: {count}', { count: formatNumber(failuresInRow) }))
  if (ordersOverdue > 0) {
    const text = t('deletions overdue: {count}', { count: formatNumber(ordersOverdue) })
    facts.push(<Link href="/admin/federation/orders">{text}</Link>)
  }
  if (facts.length === 0) return null
  return (
    <p className="small muted">
      {facts.map((fact, index) => (
        <Fragment key={index}>
          {index > 0 && ' · '}
          {fact}
        </Fragment>
      ))}
    </p>
  )
}

function lastChangeOf({ revokedAt, activatedAt, createdAt }: Peer): { text: Text; at: number } {
  if (revokedAt !== null) return { text: 'revoked {time}', at: revokedAt }
  if (activatedAt !== null) return { text: 'activated {time}', at: activatedAt }
  return { text: 'requested {time}', at: createdAt }
}

const maxRotationDays = 365

/** Contract: 7, rotation. */
function RotationDialog({ row: { id, autoRotateIntervalDays }, name: host, ...props }: RowDialogProps<Peer>) {
  const rotation = useMutation()
  const typed = useText(String(autoRotateIntervalDays), rotation)
  const days = Number(typed.value)
  const valid = Number.isInteger(days) && days >= 1 && days <= maxRotationDays
  const problem = valid ? null : t('Enter a number from 1 to {maxRotationDays}.', { maxRotationDays })
  const rotate: Work<unknown> = (_, client) => client.call('rotatePeer', { params: { id } })
  const rotateNow = async () => {
    if (!(await rotation.run(rotate, t('The secret was rotated.')))) return
    props.onClose()
    props.onDone()
  }
  return (
    <ConfirmDialog
      dialog="RotationDialog"
      title={t('Secret of {host}', { host })}
      text="The secret signs the requests between the two instances. Rotating it interrupts nothing."
      submit={t('Save')}
      mutation={rotation.busy || rotation.error ? rotation : undefined}
      actions={<MutationButton mutation={rotation} text="Rotate now" onClick={() => void rotateNow()} />}
      act={(_, client) => client.call('patchPeer', { params: { id }, body: { autoRotateIntervalDays: days } })}
      done={t('Saved.')}
      {...props}
    >
      <Field
        label={t('Rotate every … days')}
        name="rotation-days"
        inputMode="numeric"
        {...typed}
        problem={problem}
        error={problem}
      />
    </ConfirmDialog>
  )
}
