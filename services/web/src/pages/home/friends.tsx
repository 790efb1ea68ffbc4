import type { Client, User } from '@gatehouse/client'
import { UserAvatar, UserNames } from '../../components/avatar.tsx'
import { Card } from '../../components/card.tsx'
import { StatusDot } from '../../components/status.tsx'
import { useClient, useQuery, useStore } from '../../hooks.ts'
import { t } from '../../language/language.ts'

const maxFriendsShown = 50

export function Friends({ user }: { user: User }) {
  const client = useClient()
  const { presences, phase } = useStore(client.live)
  const ids = Object.keys(presences)
    .filter((id) => id !== user.id && !client.identity.selfIds.has(id))
    .sort((a, b) => Number(presences[b] === 'online') - Number(presences[a] === 'online') || a.localeCompare(b))
    .slice(0, maxFriendsShown)
  const users = useQuery([...ids].sort().join(' '), (signal) => findUsers(client, ids, signal))
  const online = ids.filter((id) => presences[id] === 'online').length

  return (
    <Card
      title={t('Friends')}
      action={
        ids.length > 0 && (
          <span className="muted small" role="status">
            {t('{count} online', { count: online })}
          </span>
        )
      }
    >
      {ids.length === 0 && (
        <p className="muted">
          {phase === 'ready' ? t('Friends are listed here when they are online.') : t('Loading…')}
        </p>
      )}
      <ul className="friends">
        {ids.map((id) => {
          const friend = users.data?.get(id)
          const isOnline = presences[id] === 'online'
          return (
            <li key={id} className="user-item">
              {friend ? <UserAvatar user={friend} /> : <span className="avatar" />}
              {friend ? <UserNames user={friend} /> : <span className="user-item__names">…</span>}
              <StatusDot on={isOnline} />
              <span className="small muted">{isOnline ? t('Online') : t('Offline')}</span>
            </li>
          )
        })}
      </ul>
    </Card>
  )
}

/** Leaves out users that are not found. */
async function findUsers(client: Client, ids: string[], signal: AbortSignal): Promise<Map<string, User>> {
  const found = await Promise.allSettled(ids.map((id) => client.call('getUser', { params: { id }, signal })))
  return new Map(found.flatMap((result) => (result.status === 'fulfilled' ? [[result.value.id, result.value]] : [])))
}
