import type { User } from '@gatehouse/client'
import { client } from '../../client.ts'
import { useLoad } from '../../hooks/use-load.ts'
import { useStore } from '../../hooks/use-store.ts'
import { Lantern } from '../../parts/lantern.tsx'
import { nameOf } from '../../parts/name-of.ts'
import { UserAvatar } from '../../parts/user-avatar.tsx'

const shownAtMost = 50

/** Who of one's friends is here, as the live connection tells it; online ones first. */
export function Friends({ user }: { user: User }) {
  const { presences, phase } = useStore(client.live)
  const ids = Object.keys(presences)
    .filter((id) => id !== user.id && !client.identity.selfIds.has(id))
    .sort((a, b) => Number(presences[b] === 'online') - Number(presences[a] === 'online') || a.localeCompare(b))
    .slice(0, shownAtMost)
  const known = useLoad([...ids].sort().join(' '), (signal) => findUsers(ids, signal))
  const online = ids.filter((id) => presences[id] === 'online').length

  return (
    <section className="wall" aria-labelledby="friends-head">
      <div className="wall__head">
        <h2 id="friends-head">Friends</h2>
        {ids.length > 0 && (
          <span className="quiet small" role="status">
            {online} online
          </span>
        )}
      </div>
      {ids.length === 0 && (
        <p className="quiet">
          {phase === 'ready' ? 'When friends are here, their lanterns are lit.' : 'Looking who is here…'}
        </p>
      )}
      <ul className="friends">
        {ids.map((id) => {
          const friend = known.data?.get(id)
          const lit = presences[id] === 'online'
          return (
            <li key={id} className="person">
              {friend ? <UserAvatar user={friend} /> : <span className="avatar" />}
              <span className="person__names">
                <span className="person__name">{friend ? nameOf(friend) : '…'}</span>
                <span className="quiet small">{friend ? `@${friend.username}` : ' '}</span>
              </span>
              <Lantern lit={lit} />
              <span className="small quiet">{lit ? 'Online' : 'Offline'}</span>
            </li>
          )
        })}
      </ul>
    </section>
  )
}

/** Those who cannot be found (gone meanwhile) are left out. */
async function findUsers(ids: string[], signal: AbortSignal): Promise<Map<string, User>> {
  const found = await Promise.allSettled(ids.map((id) => client.api.users.find(id, { signal })))
  return new Map(found.flatMap((result) => (result.status === 'fulfilled' ? [[result.value.id, result.value]] : [])))
}
