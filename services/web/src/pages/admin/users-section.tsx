import type { User } from '@gatehouse/client'
import { useState } from 'react'
import { client } from '../../client.ts'
import { useLoad } from '../../hooks/use-load.ts'
import { useSettled } from '../../hooks/use-settled.ts'
import { Empty } from '../../parts/empty.tsx'
import { LoadProblem } from '../../parts/load-problem.tsx'
import { RowShimmer } from '../../parts/row-shimmer.tsx'
import { Pager } from './pager.tsx'
import { everyone, UserFilters, type UserFilter } from './user-filters.tsx'
import { UserRow } from './user-row.tsx'

const pageSize = 20

/** All accounts: search, roles, password resets, deletions. Contract: 5. */
export function UsersSection({ self }: { self: User }) {
  const [filter, setFilter] = useState(everyone)
  const [page, setPage] = useState(1)
  const settled = useSettled(filter, 250)
  const load = useLoad(JSON.stringify([settled, page]), (signal) =>
    client.api.admin.listUsers({ ...queryOf(settled), page, pageSize }, { signal }),
  )
  const change = (next: UserFilter) => {
    setFilter(next)
    setPage(1)
  }
  return (
    <section className="stack" aria-label="Users">
      <h2 className="visually-hidden">Users</h2>
      <UserFilters filter={filter} onChange={change} />
      <p className="small quiet" role="status">
        {load.data ? `${load.data.total} ${load.data.total === 1 ? 'account' : 'accounts'}` : 'Looking…'}
      </p>
      <LoadProblem load={load} />
      {!load.data && load.loading && <RowShimmer rows={6} />}
      {load.data?.users.length === 0 && (
        <Empty icon="search">
          <p>Nobody matches this search.</p>
        </Empty>
      )}
      {load.data && load.data.users.length > 0 && (
        <ul className="wall rows people" aria-busy={load.loading}>
          {load.data.users.map((user) => (
            <UserRow key={user.id} user={user} isSelf={user.id === self.id} onChanged={load.reload} />
          ))}
        </ul>
      )}
      {load.data && <Pager page={page} pages={Math.ceil(load.data.total / pageSize)} onPick={setPage} />}
    </section>
  )
}

function queryOf(filter: UserFilter) {
  return {
    sort: filter.sort,
    ...(filter.q.trim() ? { q: filter.q.trim() } : {}),
    ...(filter.role !== 'any' ? { role: filter.role } : {}),
    ...(filter.showDeleted ? { showDeleted: true } : {}),
  }
}
