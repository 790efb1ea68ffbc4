import type { User } from '@gatehouse/client'
import { useState } from 'react'
import { Link } from 'wouter'
import { UserAvatar, UserNames } from '../../components/avatar.tsx'
import { Button } from '../../components/button.tsx'
import { Checkbox } from '../../components/choices.tsx'
import { formatNumber } from '../../components/format.ts'
import { RelativeTime } from '../../components/status.tsx'
import { useQuery } from '../../hooks.ts'
import { t } from '../../language/language.ts'
import { Phrase } from '../../language/phrase.tsx'
import { AdminList, type Filter } from './admin-list.tsx'
import { BulkSuspendDialog } from './bulk-suspend-dialog.tsx'
import { UserBadges, UserMenu } from './user-menu.tsx'

const pageSize = 20

const listFilters = (instances: readonly string[]): readonly Filter[] => [
  { name: 'q', label: 'Search', type: 'text', placeholder: 'Name or username' },
  {
    name: 'role',
    label: 'Role',
    type: 'select',
    options: { '': t('All roles'), admin: t('Admins'), 'non-admin': t('Users') },
  },
  {
    name: 'homeInstance',
    label: 'Instance',
    type: 'select',
    options: {
      '': t('All instances'),
      local: t('This instance'),
      ...Object.fromEntries(instances.map((host) => [host, host])),
    },
  },
  {
    name: 'sort',
    label: 'Sort by',
    type: 'select',
    options: { '': t('Newest first'), oldest: t('Oldest first'), az: t('Username, A to Z'), za: t('Username, Z to A') },
  },
  { name: 'joinedAfter', label: 'Joined on or after', type: 'date' },
  { name: 'joinedBefore', label: 'Joined on or before', type: 'date' },
  { name: 'suspended', label: 'Only suspended', type: 'flag' },
  { name: 'showDeleted', label: 'Include deleted', type: 'flag' },
]

export function UsersSection({ self }: { self: User }) {
  const [selected, setSelected] = useState<ReadonlyMap<string, User>>(new Map())
  const [suspending, setSuspending] = useState(false)
  const instances = useQuery('user instances', (signal, client) => client.call('listUserInstances', { signal }))
  const isSelectable = (user: User) => user.id !== self.id && !user.isDeleted
  const select = (users: readonly User[], isOn: boolean) => {
    const next = new Map(selected)
    for (const user of users) {
      if (isOn) next.set(user.id, user)
      else next.delete(user.id)
    }
    setSelected(next)
  }
  const selectNone = () => setSelected(new Map())
  return (
    <AdminList
      title={t('Users')}
      filters={listFilters(instances.data?.instances ?? [])}
      fetchPage={async (listQuery, signal, client) => {
        const query = { pageSize, ...listQuery }
        const { users, nextCursor, ...count } = await client.call('listUsers', { query, signal })
        return { items: users, nextCursor, count: formatCount(count) }
      }}
      watched="users"
      empty={() => t('No users found.')}
      icon="search"
      className="user-list"
      toolbar={({ items, refetch }) => (
        <div className="button-row">
          {selected.size > 0 && (
            <>
              <Button
                size="small"
                variant="danger"
                text="Suspend selected ({count})"
                values={{ count: formatNumber(selected.size) }}
                onClick={() => setSuspending(true)}
              />
              <Button
                size="small"
                variant="plain"
                text="Select all on this page"
                onClick={() => select(items.filter(isSelectable), true)}
              />
              <Button size="small" variant="plain" text="Clear selection" onClick={selectNone} />
            </>
          )}
          {suspending && (
            <BulkSuspendDialog
              title={t('Suspend selected users')}
              listUsers={async () => [...selected.values()]}
              onClose={() => (setSuspending(false), selectNone())}
              onDone={refetch}
            />
          )}
        </div>
      )}
    >
      {(user, refetch) => (
        <li key={user.id} className="list-row">
          <div className="user-item">
            <Checkbox
              name={`select-${user.id}`}
              aria-label={t('Select {username}', { username: user.username })}
              checked={selected.has(user.id)}
              disabled={!isSelectable(user)}
              onChange={(isOn) => select([user], isOn)}
            />
            <Link href={`/admin/users/${user.id}`} className="user-item">
              <UserAvatar user={user} />
              <UserNames user={user} />
            </Link>
          </div>
          <div className="list-row__details">
            <UserBadges user={user} self={self} />
            <span className="small muted">
              <Phrase text="Joined {time}" values={{ time: <RelativeTime at={user.createdAt} /> }} />
            </span>
          </div>
          {!user.isDeleted && (
            <div className="list-row__actions">
              <UserMenu user={user} self={self} onChanged={refetch} />
            </div>
          )}
        </li>
      )}
    </AdminList>
  )
}

function formatCount({ total, totalIsEstimate }: { total: number; totalIsEstimate?: true | undefined }): string {
  const count = formatNumber(total)
  if (totalIsEstimate) return t('About {count} accounts', { count })
  return total === 1 ? t('1 account') : t('{count} accounts', { count })
}
