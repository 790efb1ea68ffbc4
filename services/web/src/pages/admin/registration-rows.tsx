import { UserName } from '../../components/avatar.tsx'
import { Button } from '../../components/button.tsx'
import { formatNumber } from '../../components/format.ts'
import { Badge, RelativeTime } from '../../components/status.tsx'
import { t } from '../../language/language.ts'
import type { Registration } from './registration-decisions.ts'
import { type Group, rowFieldOf } from './registration-selection.ts'
import type { Queue } from './use-registration-selection.ts'

type Decide = (id: string, decision: 'approve' | 'deny' | 'restore') => void
type Props = { groups: readonly Group<Registration>[]; queue: Queue; decide: Decide }

export function RegistrationRows({ groups, queue, decide }: Props) {
  const row = (registration: Registration) => (
    <Row key={registration.id} registration={registration} queue={queue} decide={decide} />
  )
  return (
    <ul className="card list registrations">
      {groups.map(({ network, rows }) =>
        rows.length === 1 ? (
          rows.map(row)
        ) : (
          <li key={network}>
            <NetworkHead network={network} rows={rows} queue={queue} />
            <ul className="list registrations__group" aria-label={network}>
              {rows.map(row)}
            </ul>
          </li>
        ),
      )}
    </ul>
  )
}

function NetworkHead({ network, rows, queue }: Group<Registration> & { queue: Queue }) {
  const ids = rows.filter(({ deniedAt }) => deniedAt === null).map(({ id }) => id)
  const isOn = ids.length > 0 && ids.every((id) => queue.selected.includes(id))
  return (
    <div className="registrations__network split-row">
      <h3>
        <bdi className="registration__network">{network}</bdi>{' '}
        <span className="small muted">{t('{count} from this network', { count: formatNumber(rows.length) })}</span>
      </h3>
      {ids.length > 0 && (
        <Button
          size="small"
          variant="plain"
          text={isOn ? 'Deselect network' : 'Select network'}
          fullText={isOn ? 'Deselect network {network}' : 'Select network {network}'}
          values={{ network }}
          onClick={() => queue.toggleAll(ids)}
        />
      )}
    </div>
  )
}

function Row({ registration, queue, decide }: { registration: Registration; queue: Queue; decide: Decide }) {
  const { id, username, reason, deniedAt } = registration
  const isSelected = queue.selected.includes(id)
  return (
    <li className="registration" data-selected={isSelected} data-denied={deniedAt !== null}>
      <Name registration={registration} queue={queue} isSelected={isSelected} />
      <p id={`${rowFieldOf(id)}-reason`} className="registration__reason" dir="auto">
        {reason ?? <span className="muted">{t('No reason given')}</span>}
      </p>
      <Source registration={registration} />
      <div className="list-row__actions">
        {deniedAt === null ? (
          <Acts id={id} username={username} decide={decide} isCurrent={queue.current === id} />
        ) : (
          <>
            <Badge tone="bad">{t('Denied')}</Badge>
            <Button
              size="small"
              text="Undo"
              fullText="Undo the denial of {username}"
              values={{ username }}
              onClick={() => decide(id, 'restore')}
            />
          </>
        )}
      </div>
    </li>
  )
}

type ActsProps = { id: string; username: string; isCurrent: boolean; decide: Decide }

/** Tab reaches those of the current row alone. */
function Acts({ id, username, isCurrent, decide }: ActsProps) {
  const common = { size: 'small', values: { username }, tabIndex: isCurrent ? 0 : -1 } as const
  return (
    <>
      <Button
        {...common}
        text="Approve"
        fullText="Approve {username}"
        aria-keyshortcuts="a"
        onClick={() => decide(id, 'approve')}
      />
      <Button
        {...common}
        variant="danger"
        text="Deny"
        fullText="Deny {username}"
        aria-keyshortcuts="d"
        onClick={() => decide(id, 'deny')}
      />
    </>
  )
}

type NameProps = { registration: Registration; queue: Queue; isSelected: boolean }

function Name({ registration: { id, username, displayName, provider, deniedAt }, queue, isSelected }: NameProps) {
  const field = rowFieldOf(id)
  return (
    <label className="registration__name">
      <input
        type="checkbox"
        id={field}
        name={field}
        aria-label={t('Select {username}', { username })}
        aria-describedby={`${field}-reason ${field}-source`}
        checked={isSelected}
        disabled={deniedAt !== null}
        tabIndex={queue.current === id ? 0 : -1}
        onFocus={() => queue.reach(id)}
        onClick={(event) => queue.select(id, event.shiftKey)}
        onChange={() => undefined}
      />
      <span className="user-item__names">
        <UserName strong>{displayName || username}</UserName>
        {(displayName ?? provider) && (
          <span className="small muted">
            <UserName>{`@${username}`}</UserName>
            {provider !== null && ` · ${t('by {provider}', { provider })}`}
          </span>
        )}
      </span>
    </label>
  )
}

/** Where it came from, and when. */
function Source({ registration: { id, network, client, createdAt } }: { registration: Registration }) {
  return (
    <p id={`${rowFieldOf(id)}-source`} className="registration__source small muted">
      <bdi className="registration__network">{network}</bdi>
      <span>
        {client ?? t('Unknown client')} · <RelativeTime at={createdAt} />
      </span>
    </p>
  )
}
