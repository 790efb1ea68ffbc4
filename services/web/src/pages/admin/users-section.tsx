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
          <SelectionButtons
            count={selected.size}
            onSuspend={() => setSuspending(true)}
            onSelectAll={() => select(items.filter(isSelectable), true)}
            onSelectNone={selectNone}
          />
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
        <UserRow
          key={user.id}
          user={user}
          self={self}
          isSelected={selected.has(user.id)}
          onSelect={isSelectable(user) ? (isOn) => select([user], isOn) : null}
          onChanged={refetch}
        />
      )}
    </AdminList>
  )
}

type SelectionProps = Record<'onSuspend' | 'onSelectAll' | 'onSelectNone', () => void> & { count: number }

function SelectionButtons({ count, onSuspend, onSelectAll, onSelectNone }: SelectionProps) {
  if (count === 0) return null
  return (
    <>
      <Button
        size="small"
        variant="danger"
        text="Suspend selected ({count})"
        values={{ count: formatNumber(count) }}
        onClick={onSuspend}
      />
      <Button size="small" variant="plain" text="Select all on this page" onClick={onSelectAll} />
      <Button size="small" variant="plain" text="Clear selection" onClick={onSelectNone} />
    </>
  )
}

type RowProps = {
  user: User
  self: User
  isSelected: boolean
  /** Null: it cannot be selected. */
  onSelect: ((isOn: boolean) => void) | null
  onChanged: () => void
}

function UserRow({ user, self, isSelected, onSelect, onChanged }: RowProps) {
  return (
    <li className="list-row">
      <div className="user-item">
        <Checkbox
          name={`select-${user.id}`}
          aria-label={t('Select {username}', { username: user.username })}
          checked={isSelected}
          disabled={!onSelect}
          onChange={(isOn) => onSelect?.(isOn)}
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
          <UserMenu user={user} self={self} onChanged={onChanged} />
        </div>
      )}
    </li>
  )
}

function formatCount({ total, totalIsEstimate }: { total: number; totalIsEstimate?: true | undefined }): string {
  const count = formatNumber(total)
  if (totalIsEstimate) return t('About {count} accounts', { count })
  return total === 1 ? t('1 account') : t('{count} accounts', { count })
}
