import type { User } from '@gatehouse/client'
import { useState } from 'react'
import { Button } from '../../components/button.tsx'
import { formatNumber } from '../../components/format.ts'
import { useClient, useQuery } from '../../hooks.ts'
import { t } from '../../language/language.ts'
import { AdminList, type Filter } from './admin-list.tsx'
import { BulkSuspendDialog } from './bulk-suspend-dialog.tsx'
import { UserRow } from './user-row.tsx'

const pageSize = 20

const listFilters = (instances: readonly string[]): readonly Filter[] => [
  { name: 'q', label: 'Search', type: 'text', placeholder: 'Name or username' },
  {
    name: 'role',
    label: 'Role',
    type: 'select',
    options: [
      ['', t('All roles')],
      ['admin', t('Admins')],
      ['non-admin', t('Users')],
    ],
  },
  {
    name: 'homeInstance',
    label: 'Instance',
    type: 'select',
    options: [
      ['', t('All instances')],
      ['local', t('This instance')],
      ...instances.map((host) => [host, host] as const),
    ],
  },
  {
    name: 'sort',
    label: 'Sort by',
    type: 'select',
    options: [
      ['', t('Newest first')],
      ['oldest', t('Oldest first')],
      ['az', t('Username, A to Z')],
      ['za', t('Username, Z to A')],
    ],
  },
  { name: 'joinedAfter', label: 'Joined from', type: 'date' },
  { name: 'joinedBefore', label: 'Joined until', type: 'date' },
  { name: 'suspended', label: 'Suspended only', type: 'flag' },
  { name: 'showDeleted', label: 'Show deleted', type: 'flag' },
]

/** Contract: 5. */
export function UsersSection({ self }: { self: User }) {
  const client = useClient()
  const [selected, setSelected] = useState<ReadonlyMap<string, User>>(new Map())
  const [suspending, setSuspending] = useState(false)
  const instances = useQuery('user instances', (signal) => client.call('listUserInstances', { signal }))
  const select = (users: readonly User[], isOn: boolean) => {
    const next = new Map(selected)
    for (const user of users) {
      if (isOn) next.set(user.id, user)
      else next.delete(user.id)
    }
    setSelected(next)
  }
  return (
    <AdminList
      title={t('Users')}
      filters={listFilters(instances.data?.instances ?? [])}
      fetchPage={async (query, signal) => {
        const { users, nextCursor, ...count } = await client.call('listUsers', {
          query: { pageSize, ...query },
          signal,
        })
        return { items: users, nextCursor, count: formatCount(count) }
      }}
      watched="users"
      empty={() => t('No users match this search.')}
      icon="search"
      className="user-list"
      toolbar={({ items, refetch }) => (
        <div className="button-row">
          {selected.size > 0 && (
            <>
              <Button size="small" variant="danger" onClick={() => setSuspending(true)}>
                {t('Suspend selected: {count}', { count: formatNumber(selected.size) })}
              </Button>
              <Button
                size="small"
                variant="plain"
                onClick={() =>
                  select(
                    items.filter((user) => isSelectable(user, self)),
                    true,
                  )
                }
              >
                {t('Select all of this page')}
              </Button>
              <Button size="small" variant="plain" onClick={() => setSelected(new Map())}>
                {t('Select none')}
              </Button>
            </>
          )}
          {suspending && (
            <BulkSuspendDialog
              title={t('Suspend the selected users')}
              listUsers={async () => [...selected.values()]}
              onClose={() => (setSuspending(false), setSelected(new Map()))}
              onChanged={refetch}
            />
          )}
        </div>
      )}
    >
      {(user, refetch) => (
        <UserRow
          key={user.id}
          user={user}
          isSelf={user.id === self.id}
          onChanged={refetch}
          isSelected={selected.has(user.id)}
          isSelectable={isSelectable(user, self)}
          onSelect={(isOn) => select([user], isOn)}
        />
      )}
    </AdminList>
  )
}

const isSelectable = (user: User, self: User) => user.id !== self.id && !user.isDeleted

export function formatCount({ total, totalIsEstimate }: { total: number; totalIsEstimate?: true | undefined }): string {
  const count = formatNumber(total)
  if (totalIsEstimate) return t('About {count} accounts', { count })
  return total === 1 ? t('1 account') : t('{count} accounts', { count })
}
