import type { User } from '@gatehouse/client'
import { useEffect, useState } from 'react'
import { Button } from '../../components/button.tsx'
import { formatNumber } from '../../components/format.ts'
import { QueryList } from '../../components/query-list.tsx'
import { useClient, useQuery } from '../../hooks.ts'
import { t } from '../../language/language.ts'
import { BulkSuspendDialog } from './bulk-suspend-dialog.tsx'
import { noFilter, type UserFilter, UserFilters } from './user-filters.tsx'
import { UserRow } from './user-row.tsx'

const pageSize = 20

export const firstPage = { filter: noFilter, page: 1 }

type Props = { self: User; shown: typeof firstPage; onShow: (shown: typeof firstPage) => void }

/** Contract: 5. */
export function UsersSection({ self, shown: { filter, page }, onShow }: Props) {
  const client = useClient()
  const debouncedFilter = useDebounced(filter, 250)
  const fetchUsers = (signal: AbortSignal) =>
    client.call('listUsers', { query: { ...toParameters(debouncedFilter), page, pageSize }, signal })
  const query = useQuery(JSON.stringify([debouncedFilter, page]), fetchUsers, 'users')
  const [selected, setSelected] = useState<ReadonlyMap<string, User>>(new Map())
  const [suspending, setSuspending] = useState(false)
  const select = (user: User, isOn: boolean) => {
    const next = new Map(selected)
    if (isOn) next.set(user.id, user)
    else next.delete(user.id)
    setSelected(next)
  }
  const instances = useQuery('user instances', (signal) => client.call('listUserInstances', { signal }))
  return (
    <section className="stack" aria-label={t('Users')}>
      <h2 className="visually-hidden">{t('Users')}</h2>
      <UserFilters
        filter={filter}
        instances={instances.data?.instances ?? []}
        onChange={(changed) => onShow({ filter: changed, page: 1 })}
      />
      <div className="toolbar">
        <p className="small muted" role="status">
          {query.data ? formatCount(query.data) : t('Loading…')}
        </p>
        {selected.size > 0 && (
          <div className="button-row">
            <Button size="small" variant="danger" onClick={() => setSuspending(true)}>
              {t('Suspend selected: {count}', { count: formatNumber(selected.size) })}
            </Button>
            <Button size="small" variant="plain" onClick={() => setSelected(new Map())}>
              {t('Select none')}
            </Button>
          </div>
        )}
      </div>
      <QueryList
        query={query}
        items={query.data?.users ?? null}
        empty={t('No users match this search.')}
        icon="search"
        className="card list user-list"
      >
        {(user) => (
          <UserRow
            key={user.id}
            user={user}
            isSelf={user.id === self.id}
            onChanged={query.refetch}
            isSelected={selected.has(user.id)}
            onSelect={(isOn) => select(user, isOn)}
          />
        )}
      </QueryList>
      {query.data && (
        <Pager
          page={page}
          pageCount={Math.ceil(query.data.total / pageSize)}
          onPick={(picked) => onShow({ filter, page: picked })}
        />
      )}
      {suspending && (
        <BulkSuspendDialog
          title={t('Suspend the selected users')}
          listUsers={async () => [...selected.values()]}
          onClose={() => (setSuspending(false), setSelected(new Map()))}
          onChanged={query.refetch}
        />
      )}
    </section>
  )
}

function toParameters(filter: UserFilter) {
  return {
    sort: filter.sort,
    ...(filter.q.trim() ? { q: filter.q.trim() } : {}),
    ...(filter.role !== 'any' ? { role: filter.role } : {}),
    ...(filter.homeInstance ? { homeInstance: filter.homeInstance } : {}),
    ...(filter.joinedAfter ? { joinedAfter: filter.joinedAfter } : {}),
    ...(filter.joinedBefore ? { joinedBefore: filter.joinedBefore } : {}),
    ...(filter.showDeleted ? { showDeleted: true } : {}),
  }
}

function formatCount({ total, totalIsEstimate }: { total: number; totalIsEstimate?: true | undefined }): string {
  const count = formatNumber(total)
  if (totalIsEstimate) return t('About {count} accounts', { count })
  return total === 1 ? t('1 account') : t('{count} accounts', { count })
}

function Pager({ page, pageCount, onPick }: { page: number; pageCount: number; onPick: (page: number) => void }) {
  if (pageCount < 2) return null
  return (
    <nav className="pager" aria-label={t('Pagination')}>
      <Button size="small" aria-disabled={page === 1} onClick={() => onPick(page - 1)}>
        {t('Previous')}
      </Button>
      <span className="tabular small muted">{t('Page {page} of {pageCount}', { page, pageCount })}</span>
      <Button size="small" aria-disabled={page >= pageCount} onClick={() => onPick(page + 1)}>
        {t('Next')}
      </Button>
    </nav>
  )
}

/** Not every key press sends a request. */
function useDebounced<T>(value: T, ms: number): T {
  const [debounced, setDebounced] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setDebounced(value), ms)
    return () => clearTimeout(timer)
  }, [value, ms])
  return debounced
}
