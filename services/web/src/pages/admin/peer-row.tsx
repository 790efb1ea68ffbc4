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
  title: 'Reset peering with {name}',
  text: 'This deletes what this instance stores about the peering. To become peers again, send a new request.',
  submit: 'Reset',
  dangerous: true,
  act: (client, { id }) => client.call('resetPeer', { params: { id } }),
  done: 'Peering with {host} reset.',
})

const RevokePeerDialog = askBefore<Peer>({
  dialog: 'RevokePeerDialog',
  title: 'End peering with {name}',
  text: 'The two instances stop accepting requests from each other. Accounts don’t change.',
  submit: 'End peering',
  dangerous: true,
  act: (client, { id }) => client.call('revokePeer', { params: { id } }),
  done: '{host} is no longer a peer.',
})

const ForgetDialog = askBefore<Peer>({
  dialog: 'ForgetDialog',
  title: 'Remove {name} from the list',
  text: 'This removes the instance from the list. It can ask to become a peer again.',
  submit: 'Remove from list',
  dangerous: true,
  act: (client, { id }) => client.call('forgetPeer', { params: { id } }),
  done: '{host} removed from the list.',
})

export function PeerRow({ peer, onChanged }: { peer: Peer; onChanged: () => void }) {
  const recheck = useMutation()
  const host = hostOf(peer.origin)
  const { item, dialog } = useRowDialog({ row: peer, name: host, onDone: onChanged })
  const state = peerStates[peer.status]
  const explanation = explainPeer(peer)
  const runRecheck = async () => {
    const done = await recheck.run(
      (_, client) => client.call('recheckPeer', { params: { id: peer.id } }),
      ({ peer: { status } }) => {
        const label = t(peerStates[status].label)
        return t(status === 'active' ? '{host} is active again.' : '{host}: the status is still “{label}”.', {
          host,
          label,
        })
      },
    )
    if (done) onChanged()
  }
  const items: Record<PeerAct, ReactNode> = {
    rotate: item('Rotate secret…', 'Rotate secret for {host}', RotationDialog),
    recheck: (
      <MenuItem
        key="Check again"
        text="Check again"
        fullText="Check again: {name}"
        values={{ name: host }}
        disabled={recheck.busy}
        onClick={() => void runRecheck()}
      />
    ),
    reset: item('Reset', 'Reset peering with {name}', ResetDialog),
    revoke: item('End peering', 'End peering with {name}', RevokePeerDialog, { dangerous: true }),
    forget: item('Remove from list', 'Remove from list: {name}', ForgetDialog),
  }
  return (
    <li className="list-row">
      <div>
        <h3>
          {host} <Badge tone={state.tone}>{t(state.label)}</Badge>
        </h3>
        <PeerFacts peer={peer} />
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

function PeerFacts({ peer }: { peer: Peer }) {
  const time = lastChangeOf(peer)
  return (
    <p className="small muted">
      {peer.instanceName && <UserName>{peer.instanceName}</UserName>}
      {peer.instanceName && ' · '}
      <Phrase text={time.text} values={{ time: <RelativeTime at={time.at} /> }} />
      {peer.status === 'active' && peer.rotatedAt !== null && (
        <Phrase
          text={
            peer.autoRotateIntervalDays === 1
              ? ' · secret rotated {time} (daily)'
              : ' · secret rotated {time} (every {days} days)'
          }
          values={{ time: <RelativeTime at={peer.rotatedAt} />, days: peer.autoRotateIntervalDays }}
        />
      )}
    </p>
  )
}

/** When it was heard of, and what fails. Contract: 7, States of a peer. */
function Contact({ peer: { lastSeenAt, lastSyncedAt, failuresInRow = 0, ordersOverdue = 0 } }: { peer: Peer }) {
  const facts: ReactNode[] = []
  if (lastSeenAt) facts.push(<Phrase text="last seen {time}" values={{ time: <RelativeTime at={lastSeenAt} /> }} />)
  if (lastSyncedAt)
    facts.push(<Phrase text="last synced {time}" values={{ time: <RelativeTime at={lastSyncedAt} /> }} />)
  if (failuresInRow > 0) facts.push(t('consecutive failures: {count}', { count: formatNumber(failuresInRow) }))
  if (ordersOverdue > 0) {
    const text = t('overdue deletions: {count}', { count: formatNumber(ordersOverdue) })
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
  if (activatedAt !== null) return { text: 'active since {time}', at: activatedAt }
  return { text: 'requested {time}', at: createdAt }
}

const maxRotationDays = 365

/** Rotating interrupts nothing, because both secrets work for an hour. Contract: 7, rotation. */
function RotationDialog({ row: { id, autoRotateIntervalDays }, name: host, ...props }: RowDialogProps<Peer>) {
  const rotation = useMutation()
  const typed = useText(String(autoRotateIntervalDays), rotation)
  const days = Number(typed.value)
  const valid = Number.isInteger(days) && days >= 1 && days <= maxRotationDays
  const problem = valid ? null : t('Enter a number from 1 to {maxRotationDays}.', { maxRotationDays })
  const rotate: Work<unknown> = (_, client) => client.call('rotatePeer', { params: { id } })
  const rotateNow = async () => {
    if (!(await rotation.run(rotate, t('Secret rotated.')))) return
    props.onClose()
    props.onDone()
  }
  return (
    <ConfirmDialog
      dialog="RotationDialog"
      title={t('Secret for {host}', { host })}
      text="This secret signs requests between the two instances. You can rotate it without interrupting anything."
      submit={t('Save')}
      mutation={rotation.busy || rotation.error ? rotation : undefined}
      actions={<MutationButton mutation={rotation} text="Rotate now" onClick={() => void rotateNow()} />}
      act={(_, client) => client.call('patchPeer', { params: { id }, body: { autoRotateIntervalDays: days } })}
      done={t('Changes saved.')}
      {...props}
    >
      <Field
        label={t('Rotate every (days)')}
        name="rotation-days"
        inputMode="numeric"
        {...typed}
        problem={problem}
        error={problem}
      />
    </ConfirmDialog>
  )
}
