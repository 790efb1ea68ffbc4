import { Checkbox, Field, SelectField } from '../../components/field.tsx'
import { t } from '../../language/language.ts'

export type UserFilter = {
  q: string
  role: 'any' | 'admin' | 'non-admin'
  sort: 'newest' | 'oldest' | 'az' | 'za'
  /** A host, `local` for accounts of this instance; empty for all. */
  homeInstance: string
  /** Days, `2026-11-22`; empty for no limit. */
  joinedAfter: string
  joinedBefore: string
  showDeleted: boolean
}

export const noFilter: UserFilter = {
  q: '',
  role: 'any',
  sort: 'newest',
  homeInstance: '',
  joinedAfter: '',
  joinedBefore: '',
  showDeleted: false,
}

const roles = [
  ['any', 'All roles'],
  ['admin', 'Admins'],
  ['non-admin', 'Users'],
] as const

const sortOrders = [
  ['newest', 'Newest first'],
  ['oldest', 'Oldest first'],
  ['az', 'Username, A to Z'],
  ['za', 'Username, Z to A'],
] as const

type Props = { filter: UserFilter; instances: readonly string[]; onChange: (filter: UserFilter) => void }

export function UserFilters({ filter, instances, onChange }: Props) {
  const hosts = instances.map((host) => [host, host] as const)
  return (
    <form className="filters" role="search" onSubmit={(event) => event.preventDefault()}>
      <Field
        label={t('Search')}
        name="user-search"
        type="search"
        placeholder={t('Name or username')}
        autoComplete="off"
        value={filter.q}
        onText={(q) => onChange({ ...filter, q })}
      />
      <SelectField
        label={t('Role')}
        name="role"
        value={filter.role}
        options={roles.map(([role, name]) => [role, t(name)])}
        onPick={(role) => onChange({ ...filter, role })}
      />
      <SelectField
        label={t('Instance')}
        name="home-instance"
        value={filter.homeInstance}
        options={[['', t('All instances')], ['local', t('This instance')], ...hosts]}
        onPick={(homeInstance) => onChange({ ...filter, homeInstance })}
      />
      <Field
        label={t('Joined from')}
        name="joined-after"
        type="date"
        autoComplete="off"
        value={filter.joinedAfter}
        onText={(joinedAfter) => onChange({ ...filter, joinedAfter })}
      />
      <Field
        label={t('Joined until')}
        name="joined-before"
        type="date"
        autoComplete="off"
        value={filter.joinedBefore}
        onText={(joinedBefore) => onChange({ ...filter, joinedBefore })}
      />
      <SelectField
        label={t('Sort by')}
        name="sort"
        value={filter.sort}
        options={sortOrders.map(([sort, name]) => [sort, t(name)])}
        onPick={(sort) => onChange({ ...filter, sort })}
      />
      <Checkbox
        label={t('Show deleted')}
        name="show-deleted"
        checked={filter.showDeleted}
        onChange={(showDeleted) => onChange({ ...filter, showDeleted })}
      />
    </form>
  )
}
