import type { Peer } from '@gatehouse/client'
import { Fragment, type ReactNode, useState } from 'react'
import { Link } from 'wouter'
import { formatNumber, hostOf } from '../../components/format.ts'
import { UserName } from '../../components/avatar.tsx'
import { RowError } from '../../components/error-message.tsx'
import { Menu, MenuItem } from '../../components/menu.tsx'
import { Badge, RelativeTime } from '../../components/status.tsx'
import { useClient, useMutation, useToast } from '../../hooks.ts'
import { t, type Text } from '../../language/language.ts'
import { Phrase } from '../../language/phrase.tsx'
import { PeerActDialog, RotationDialog } from './peer-dialogs.tsx'
import { explainPeer, type PeerAct, peerStates } from './peer-states.ts'

const acts: Record<PeerAct, { text: Text; fullText: Text; dangerous?: boolean }> = {
  rotate: { text: 'Secret…', fullText: 'Secret of {host}' },
  recheck: { text: 'Recheck', fullText: 'Recheck {name}' },
  reset: { text: 'Reset', fullText: 'Reset {name}' },
  revoke: { text: 'Revoke', fullText: 'Revoke {name}', dangerous: true },
  forget: { text: 'Forget', fullText: 'Forget {name}' },
}

type Props = { peer: Peer; onChanged: () => void }

/** Contract: 7. */
export function PeerRow({ peer, onChanged }: Props) {
  const client = useClient()
  const recheck = useMutation()
  const showToast = useToast()
  const [openAct, setOpenAct] = useState<Exclude<PeerAct, 'recheck'> | null>(null)
  const host = hostOf(peer.origin)
  const state = peerStates[peer.status]
  const explanation = explainPeer(peer)
  const time = lastChangeOf(peer)
  const close = () => setOpenAct(null)
  const runRecheck = async () => {
    const done = await recheck.run(async () => {
      const { status } = (await client.call('recheckPeer', { params: { id: peer.id } })).peer
      showToast(
        status === 'active'
          ? t('{host} is active again.', { host })
          : t('{host}: still {label}.', { host, label: t(peerStates[status].label) }),
      )
    })
    if (done) onChanged()
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
        <Menu label={t('Actions for {username}', { username: host })}>
          {state.acts.map((act) => (
            <MenuItem
              key={act}
              {...acts[act]}
              values={{ host, name: host }}
              disabled={act === 'recheck' && recheck.busy}
              onClick={() => (act === 'recheck' ? void runRecheck() : setOpenAct(act))}
            />
          ))}
        </Menu>
      </div>
      {openAct === 'rotate' && <RotationDialog peer={peer} onClose={close} onChanged={onChanged} />}
      {openAct !== null && openAct !== 'rotate' && (
        <PeerActDialog act={openAct} peer={peer} onClose={close} onChanged={onChanged} />
      )}
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
